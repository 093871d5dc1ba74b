// The types _core.NewmarkReduced, NewmarkProjected, NewmarkSolid, CentralReduced and CentralSolid:
// a simulation each, guarded by a lock of its own so that threads may share it.
#include "base/alloc.h"
#include "integrator/central.h"
#include "integrator/integrator.h"
#include "integrator/newmark_projected.h"
#include "pyext/py_convert.h"
#include "pyext/py_damping.h"
#include "pyext/py_projected.h"
#include "pyext/py_reduced.h"
#include "pyext/py_solid.h"

typedef struct view {
  const double *q, *qdot, *qddot;
  double time_s;
} view;

// What a scheme does with the state `s` that it owns; every call under the lock.
typedef struct py_scheme {
  int64_t chunk;  // steps between two looks at signals: a few milliseconds
  void (*release)(void *s);
  rf_status (*step)(void *s, const rf_run *run, const double *force, int64_t n, rf_error *err);
  rf_status (*reset)(void *s, const rf_run *run, const double *q, const double *qdot,
                     const double *qddot, rf_error *err);
  view (*look)(const void *s);
  rf_newmark_report (*report)(const void *s);  // explicit schemes: steps only
  bool implicit;
} py_scheme;

enum { REDUCED_CHUNK = 256 };

static void newmark_reduced_free(void *s) { rf_newmark_free(s); }
static rf_status newmark_reduced_step(void *s, const rf_run *run, const double *force, int64_t n,
                                      rf_error *err) {
  (void)run;
  const rf_status st = rf_newmark_step_rt(s, force, n);
  return st < 0 ? rf_newmark_diverged(((rf_newmark *)s)->time_s, err) : st;
}
static rf_status newmark_reduced_reset(void *s, const rf_run *run, const double *q,
                                       const double *qdot, const double *qddot, rf_error *err) {
  (void)run;
  return rf_newmark_reset(s, q, qdot, qddot, err);
}
static view newmark_reduced_look(const void *from) {
  const rf_newmark *s = from;
  return (view){s->q, s->qdot, s->qddot, s->time_s};
}
static rf_newmark_report newmark_reduced_report(const void *s) {
  return ((const rf_newmark *)s)->report;
}
static const py_scheme newmark_reduced = {REDUCED_CHUNK,
                                          newmark_reduced_free,
                                          newmark_reduced_step,
                                          newmark_reduced_reset,
                                          newmark_reduced_look,
                                          newmark_reduced_report,
                                          true};

static void newmark_projected_free(void *s) { rf_projected_newmark_free(s); }
static rf_status newmark_projected_step(void *s, const rf_run *run, const double *force, int64_t n,
                                        rf_error *err) {
  return rf_projected_newmark_step(s, run, force, n, err);
}
static rf_status newmark_projected_reset(void *s, const rf_run *run, const double *q,
                                         const double *qdot, const double *qddot, rf_error *err) {
  return rf_projected_newmark_reset(s, run, q, qdot, qddot, err);
}
static view newmark_projected_look(const void *from) {
  const rf_projected_newmark *s = from;
  return (view){s->q, s->qdot, s->qddot, s->time_s};
}
static rf_newmark_report newmark_projected_report(const void *s) {
  return ((const rf_projected_newmark *)s)->report;
}
static const py_scheme newmark_projected = {1,
                                            newmark_projected_free,
                                            newmark_projected_step,
                                            newmark_projected_reset,
                                            newmark_projected_look,
                                            newmark_projected_report,
                                            true};

static void newmark_solid_free(void *s) { rf_solid_newmark_free(s); }
static rf_status newmark_solid_step(void *s, const rf_run *run, const double *force, int64_t n,
                                    rf_error *err) {
  return rf_solid_newmark_step(s, run, force, n, err);
}
static rf_status newmark_solid_reset(void *s, const rf_run *run, const double *q,
                                     const double *qdot, const double *qddot, rf_error *err) {
  return rf_solid_newmark_reset(s, run, q, qdot, qddot, err);
}
static view newmark_solid_look(const void *s) {
  return (view){rf_solid_newmark_u(s), rf_solid_newmark_v(s), rf_solid_newmark_a(s),
                rf_solid_newmark_time(s)};
}
static rf_newmark_report newmark_solid_report(const void *s) { return rf_solid_newmark_report(s); }
static const py_scheme newmark_solid = {1,
                                        newmark_solid_free,
                                        newmark_solid_step,
                                        newmark_solid_reset,
                                        newmark_solid_look,
                                        newmark_solid_report,
                                        true};

static void central_reduced_free(void *s) { rf_central_free(s); }
static rf_status central_reduced_step(void *s, const rf_run *run, const double *force, int64_t n,
                                      rf_error *err) {
  (void)run;
  const rf_status st = rf_central_step_rt(s, force, n);
  return st < 0 ? rf_central_diverged(((rf_central *)s)->time_s, err) : st;
}
static rf_status central_reduced_reset(void *s, const rf_run *run, const double *q,
                                       const double *qdot, const double *qddot, rf_error *err) {
  (void)run;
  return rf_central_reset(s, q, qdot, qddot, err);
}
static view central_reduced_look(const void *from) {
  const rf_central *s = from;
  return (view){s->q, s->qdot, s->qddot, s->time_s};
}
static rf_newmark_report central_reduced_report(const void *s) {
  return (rf_newmark_report){.steps = ((const rf_central *)s)->steps};
}
static const py_scheme central_reduced = {REDUCED_CHUNK,
                                          central_reduced_free,
                                          central_reduced_step,
                                          central_reduced_reset,
                                          central_reduced_look,
                                          central_reduced_report,
                                          false};

static void central_solid_free(void *s) { rf_solid_central_free(s); }
static rf_status central_solid_step(void *s, const rf_run *run, const double *force, int64_t n,
                                    rf_error *err) {
  return rf_solid_central_step(s, run, force, n, err);
}
static rf_status central_solid_reset(void *s, const rf_run *run, const double *q,
                                     const double *qdot, const double *qddot, rf_error *err) {
  return rf_solid_central_reset(s, run, q, qdot, qddot, err);
}
static view central_solid_look(const void *from) {
  const rf_solid_central *s = from;
  return (view){s->motion.u, s->motion.v, s->motion.a, s->time_s};
}
static rf_newmark_report central_solid_report(const void *s) {
  return (rf_newmark_report){.steps = ((const rf_solid_central *)s)->steps};
}
static const py_scheme central_solid = {1,
                                        central_solid_free,
                                        central_solid_step,
                                        central_solid_reset,
                                        central_solid_look,
                                        central_solid_report,
                                        false};

typedef struct py_simulation {
  PyObject_HEAD PyObject *system;  // strong: the simulation borrows its C model
  PyObject *damping;               // strong, nullable: and its strain-rate damping
  PyThread_type_lock lock;
  const py_scheme *scheme;
  void *state;
  npy_intp shape[2];  // of the state vectors
  int ndim;
} py_simulation;

static int parse_settings(PyTypeObject *type, PyObject *args, PyObject *kwargs, PyObject **system,
                          rf_newmark_settings *set, int *threads, PyObject **damping) {
  *set = (rf_newmark_settings){0};
  *damping = Py_None;
  if (py_refuse_keywords(type, kwargs) < 0) return 0;
  return PyArg_ParseTuple(args, "Odddddidi|O:Newmark", system, &set->dt_s, &set->damping_mass,
                          &set->damping_stiff, &set->beta, &set->gamma, &set->newton_max,
                          &set->tolerance, threads, damping);
}

// An object that owns the given C state; takes it over, also on failure.
static PyObject *wrap(PyTypeObject *type, PyObject *system, PyObject *damping,
                      const py_scheme *scheme, void *owned, int ndim, npy_intp n) {
  py_simulation *self = (py_simulation *)type->tp_alloc(type, 0);
  if (!self) {
    scheme->release(owned);
    return NULL;
  }
  self->scheme = scheme;
  self->state = owned;
  self->ndim = ndim;
  self->shape[0] = n;
  self->shape[1] = 3;
  self->system = Py_NewRef(system);
  self->damping = Py_NewRef(damping);
  self->lock = PyThread_allocate_lock();
  if (!self->lock) {
    PyErr_NoMemory();
    Py_CLEAR(self);
  }
  return (PyObject *)self;
}

static PyObject *newmark_reduced_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *system, *damping;
  rf_newmark_settings set;
  int threads;
  if (!parse_settings(type, args, kwargs, &system, &set, &threads, &damping)) return NULL;
  const rf_reduced *model = py_reduced_get(state, system);
  if (!model || py_damping_in(state, damping, &set.strain_rate) < 0) return NULL;
  rf_newmark *s = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_newmark_create(model, &set, &s, &err);
  Py_END_ALLOW_THREADS
  return st < 0 ? py_raise(state, st, &err)
                : wrap(type, system, damping, &newmark_reduced, s, 1, model->r);
}

static PyObject *newmark_projected_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *system, *damping;
  rf_newmark_settings set;
  int threads;
  py_run run;
  if (!parse_settings(type, args, kwargs, &system, &set, &threads, &damping)) return NULL;
  const rf_projected *model = py_projected_get(state, system);
  if (!model || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  if (damping != Py_None)
    return py_fail(state, "InputError", "strain_rate must be None for a ProjectedSolid");
  rf_projected_newmark *s = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_projected_newmark_create(model, &run.run, &set, &s, &err);
  Py_END_ALLOW_THREADS
  return st < 0 ? py_raise(state, st, &err)
                : wrap(type, system, Py_None, &newmark_projected, s, 1, model->r);
}

static PyObject *newmark_solid_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *system, *damping;
  rf_newmark_settings set;
  int threads;
  py_run run;
  if (!parse_settings(type, args, kwargs, &system, &set, &threads, &damping)) return NULL;
  const rf_solid *model = py_solid_get(state, system);
  py_in viscosity = {0};
  if (!model || py_run_init(state, &run, NULL, threads) < 0 ||
      py_viscosity_in(&viscosity, damping, model) < 0)
    return NULL;
  set.viscosity = viscosity.data;
  rf_solid_newmark *s = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_solid_newmark_create(model, &run.run, &set, &s, &err);
  Py_END_ALLOW_THREADS
  py_in_release(&viscosity);
  return st < 0 ? py_raise(state, st, &err)
                : wrap(type, system, Py_None, &newmark_solid, s, 2, model->mesh->n_nodes);
}

static int parse_central(PyTypeObject *type, PyObject *args, PyObject *kwargs, PyObject **system,
                         rf_central_settings *set, int *threads, PyObject **damping) {
  *set = (rf_central_settings){0};
  *damping = Py_None;
  if (py_refuse_keywords(type, kwargs) < 0) return 0;
  return PyArg_ParseTuple(args, "Odddi|O:Central", system, &set->dt_s, &set->damping_mass,
                          &set->damping_stiff, threads, damping);
}

static PyObject *central_reduced_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *system, *damping;
  rf_central_settings set;
  int threads;
  if (!parse_central(type, args, kwargs, &system, &set, &threads, &damping)) return NULL;
  const rf_reduced *model = py_reduced_get(state, system);
  if (!model || py_damping_in(state, damping, &set.strain_rate) < 0) return NULL;
  rf_central *s = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_central_create(model, &set, &s, &err);
  Py_END_ALLOW_THREADS
  return st < 0 ? py_raise(state, st, &err)
                : wrap(type, system, damping, &central_reduced, s, 1, model->r);
}

static PyObject *central_solid_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *system, *damping;
  rf_central_settings set;
  int threads;
  py_run run;
  if (!parse_central(type, args, kwargs, &system, &set, &threads, &damping)) return NULL;
  const rf_solid *model = py_solid_get(state, system);
  py_in viscosity = {0};
  if (!model || py_run_init(state, &run, NULL, threads) < 0 ||
      py_viscosity_in(&viscosity, damping, model) < 0)
    return NULL;
  set.viscosity = viscosity.data;
  rf_solid_central *s = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_solid_central_create(model, &run.run, &set, &s, &err);
  Py_END_ALLOW_THREADS
  py_in_release(&viscosity);
  return st < 0 ? py_raise(state, st, &err)
                : wrap(type, system, Py_None, &central_solid, s, 2, model->mesh->n_nodes);
}

// No tp_clear: a system refers to no simulation, so no cycle runs through here, and a
// simulation without its system must not exist.
static int simulation_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((py_simulation *)self)->system);
  Py_VISIT(((py_simulation *)self)->damping);
  return 0;
}

static void simulation_dealloc(PyObject *object) {
  py_simulation *self = (py_simulation *)object;
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->scheme) self->scheme->release(self->state);
  if (self->lock) PyThread_free_lock(self->lock);
  Py_CLEAR(self->system);
  Py_CLEAR(self->damping);
  type->tp_free(object);
  Py_DECREF(type);
}

// A state vector, or NULL data when `object` is None.
static int vector_in(const py_simulation *self, py_in *in, PyObject *object, const char *name) {
  *in = (py_in){0};
  if (object == Py_None) return 0;
  return self->ndim == 1 ? py_in_f64(in, object, name, 1, self->shape)
                         : py_in_field(in, object, name, self->shape[0]);
}

PyDoc_STRVAR(step_doc,
             "step($self, force, n, progress, threads, /)\n--\n\n"
             "n steps under a constant force (None: zero).");
static PyObject *step(PyObject *object, PyObject *args) {
  py_simulation *self = (py_simulation *)object;
  py_state *state = py_state_of_object(object);
  PyObject *force_obj, *progress;
  long long n;
  int threads;
  py_run run;
  py_in force;
  if (!PyArg_ParseTuple(args, "OLOi:step", &force_obj, &n, &progress, &threads)) return NULL;
  if (n < 0) return py_fail(state, "InputError", "n must be at least 0, got %lld", n);
  if (py_run_init(state, &run, progress, threads) < 0 ||
      vector_in(self, &force, force_obj, "force") < 0)
    return NULL;
  rf_error err = {0};
  rf_status st = RF_OK;
  Py_BEGIN_ALLOW_THREADS
  // the lock is held for a chunk of steps only and never while Python is called: progress
  // callables and other threads may look at the simulation in between
  const int64_t chunk = self->scheme->chunk;
  const rf_run quiet = {.threads = threads};
  for (int64_t done = 0; done < n && st >= 0;) {
    const int64_t count = n - done < chunk ? n - done : chunk;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    st = self->scheme->step(self->state, &quiet, force.data, count, &err);
    PyThread_release_lock(self->lock);
    done += count;
    if (st >= 0) st = rf_run_progress(&run.run, done, n, &err);
  }
  Py_END_ALLOW_THREADS
  py_in_release(&force);
  if (st < 0) return py_raise(state, st, &err);
  Py_RETURN_NONE;
}

PyDoc_STRVAR(reset_doc,
             "reset($self, q, qdot, qddot, threads, /)\n--\n\n"
             "State at time 0; None: zero, for qddot: consistent without external force.");
static PyObject *reset(PyObject *object, PyObject *args) {
  py_simulation *self = (py_simulation *)object;
  py_state *state = py_state_of_object(object);
  PyObject *objects[3], *result = NULL;
  int threads;
  py_run run;  // checks `threads`; no Python is called while the lock is held
  py_in in[3] = {{0}};
  static const char *const names[3] = {"q", "qdot", "qddot"};
  if (!PyArg_ParseTuple(args, "OOOi:reset", &objects[0], &objects[1], &objects[2], &threads))
    return NULL;
  if (py_run_init(state, &run, NULL, threads) < 0) return NULL;
  for (int i = 0; i < 3; ++i)
    if (vector_in(self, &in[i], objects[i], names[i]) < 0) goto done;
  rf_error err = {0};
  rf_status st;
  const rf_run quiet = {.threads = threads};
  Py_BEGIN_ALLOW_THREADS
  PyThread_acquire_lock(self->lock, WAIT_LOCK);
  st = self->scheme->reset(self->state, &quiet, in[0].data, in[1].data, in[2].data, &err);
  PyThread_release_lock(self->lock);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : Py_NewRef(Py_None);
done:
  for (int i = 0; i < 3; ++i) py_in_release(&in[i]);
  return result;
}

PyDoc_STRVAR(state_doc,
             "state($self, /)\n--\n\n"
             "(q, qdot, qddot, time): copies.");
static PyObject *read_state(PyObject *object, PyObject *unused) {
  (void)unused;
  py_simulation *self = (py_simulation *)object;
  PyObject *out[3], *result = NULL;
  for (int i = 0; i < 3; ++i) out[i] = py_new_f64(self->ndim, self->shape);
  if (out[0] && out[1] && out[2]) {
    double *to[3] = {py_f64(out[0]), py_f64(out[1]), py_f64(out[2])};
    const size_t count = (size_t)(self->shape[0] * (self->ndim == 2 ? 3 : 1));
    double time_s;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    const view now = self->scheme->look(self->state);
    const double *const from[3] = {now.q, now.qdot, now.qddot};
    for (int i = 0; i < 3; ++i)
      for (size_t d = 0; d < count; ++d) to[i][d] = from[i][d];
    time_s = now.time_s;
    PyThread_release_lock(self->lock);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("(OOOd)", out[0], out[1], out[2], time_s);
  }
  for (int i = 0; i < 3; ++i) Py_XDECREF(out[i]);
  return result;
}

PyDoc_STRVAR(report_doc,
             "report($self, /)\n--\n\n"
             "Dict of what happened since the last reset; of an explicit scheme with steps only.");
static PyObject *read_report(PyObject *object, PyObject *unused) {
  (void)unused;
  py_simulation *self = (py_simulation *)object;
  rf_newmark_report r;
  Py_BEGIN_ALLOW_THREADS
  PyThread_acquire_lock(self->lock, WAIT_LOCK);
  r = self->scheme->report(self->state);
  PyThread_release_lock(self->lock);
  Py_END_ALLOW_THREADS
  if (!self->scheme->implicit) return Py_BuildValue("{s:L}", "steps", (long long)r.steps);
  PyObject *residuals = PyTuple_New(r.n_history);
  for (int32_t i = 0; residuals && i < r.n_history; ++i) {
    PyObject *value = PyFloat_FromDouble(r.history[i]);
    if (value)
      PyTuple_SET_ITEM(residuals, i, value);
    else
      Py_CLEAR(residuals);
  }
  if (!residuals) return NULL;
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:d,s:i,s:i,s:N}", "steps", (long long)r.steps, "solves",
                       (long long)r.solves, "indefinite", (long long)r.indefinite, "unconverged",
                       (long long)r.unconverged, "residual", r.residual, "iterations",
                       (int)r.last_solves, "most_iterations", (int)r.most_solves, "residuals",
                       residuals);
}

PyDoc_STRVAR(time_doc,
             "time_steps($self, force, runs, inner, /)\n--\n\n"
             "Seconds per step of each of `runs` batches of `inner` steps. For benchmarks: no\n"
             "Python in between.");
static PyObject *time_steps(PyObject *object, PyObject *args) {
  py_simulation *self = (py_simulation *)object;
  PyObject *force_obj, *out = NULL;
  int runs, inner;
  py_in force;
  if (!PyArg_ParseTuple(args, "Oii:time_steps", &force_obj, &runs, &inner)) return NULL;
  if (runs < 1 || inner < 1)
    return py_fail(py_state_of_object(object), "InputError", "runs and inner must be at least 1");
  if (vector_in(self, &force, force_obj, "force") < 0) return NULL;
  rf_status st = RF_OK;
  rf_error err = {0};
  const rf_run quiet = {.threads = 1};
  out = py_new_f64(1, (npy_intp[]){runs});
  if (out) {
    double *seconds = py_f64(out);
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    for (int i = 0; i < runs && st >= 0; ++i) {
      const double start = py_now_s();
      st = self->scheme->step(self->state, &quiet, force.data, inner, &err);
      seconds[i] = (py_now_s() - start) / inner;
    }
    PyThread_release_lock(self->lock);
    Py_END_ALLOW_THREADS
  }
  py_in_release(&force);
  if (st < 0) {
    Py_CLEAR(out);
    return py_fail(py_state_of_object(object), "DivergedError", "diverged while being timed");
  }
  return out;
}

static PyMethodDef methods[] = {
    {"step", step, METH_VARARGS, step_doc},
    {"reset", reset, METH_VARARGS, reset_doc},
    {"state", read_state, METH_NOARGS, state_doc},
    {"report", read_report, METH_NOARGS, report_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef reduced_methods[] = {
    {"step", step, METH_VARARGS, step_doc},
    {"reset", reset, METH_VARARGS, reset_doc},
    {"state", read_state, METH_NOARGS, state_doc},
    {"report", read_report, METH_NOARGS, report_doc},
    {"time_steps", time_steps, METH_VARARGS, time_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(newmark_reduced_doc,
             "NewmarkReduced(system, dt, alpha, beta_damping, beta, gamma, newton_max, tol, "
             "threads, strain_rate=None, /)\n--\n\n"
             "Implicit Newmark simulation of a Reduced; strain_rate: a Damping.");
PyDoc_STRVAR(newmark_projected_doc,
             "NewmarkProjected(system, dt, alpha, beta_damping, beta, gamma, newton_max, tol, "
             "threads, strain_rate=None, /)\n--\n\n"
             "Implicit Newmark simulation of a Projected; strain_rate: None.");
PyDoc_STRVAR(newmark_solid_doc,
             "NewmarkSolid(system, dt, alpha, beta_damping, beta, gamma, newton_max, tol, "
             "threads, viscosity=None, /)\n--\n\n"
             "Implicit Newmark simulation of a Solid; viscosity: phi and psi of its materials.");
PyDoc_STRVAR(central_reduced_doc,
             "CentralReduced(system, dt, alpha, beta_damping, threads, strain_rate=None, /)\n--\n\n"
             "Simulation of a Reduced by explicit central differences.");
PyDoc_STRVAR(central_solid_doc,
             "CentralSolid(system, dt, alpha, beta_damping, threads, viscosity=None, /)\n--\n\n"
             "Simulation of a Solid by explicit central differences, with lumped mass.");

#define SIMULATION_TYPE(prefix, type_name, method_table)                           \
  static PyType_Slot prefix##_slots[] = {                                          \
      {Py_tp_new, prefix##_new},                                                   \
      {Py_tp_dealloc, simulation_dealloc},                                         \
      {Py_tp_traverse, simulation_traverse},                                       \
      {Py_tp_methods, method_table},                                               \
      {Py_tp_doc, (void *)prefix##_doc},                                           \
      {0, NULL},                                                                   \
  };                                                                               \
  PyType_Spec py_##prefix##_spec = {                                               \
      .name = "reducedfem._core." type_name,                                       \
      .basicsize = sizeof(py_simulation),                                          \
      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, \
      .slots = prefix##_slots,                                                     \
  }

SIMULATION_TYPE(newmark_reduced, "NewmarkReduced", reduced_methods);
SIMULATION_TYPE(newmark_projected, "NewmarkProjected", methods);
SIMULATION_TYPE(newmark_solid, "NewmarkSolid", methods);
SIMULATION_TYPE(central_reduced, "CentralReduced", reduced_methods);
SIMULATION_TYPE(central_solid, "CentralSolid", methods);
