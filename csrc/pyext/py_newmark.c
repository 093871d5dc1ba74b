// The types _core.NewmarkReduced and _core.NewmarkSolid: a simulation each, guarded
// by a lock of its own so that threads may share it.
#include "base/alloc.h"
#include "integrator/integrator.h"
#include "pyext/py_convert.h"
#include "pyext/py_reduced.h"
#include "pyext/py_solid.h"

typedef struct py_newmark {
  PyObject_HEAD PyObject *system;  // strong: the simulation borrows its C model
  PyThread_type_lock lock;
  rf_newmark *reduced;  // one of these two
  rf_solid_newmark *solid;
  npy_intp shape[2];  // of the state vectors
  int ndim;
} py_newmark;

static int parse_settings(PyTypeObject *type, PyObject *args, PyObject *kwargs, PyObject **system,
                          rf_newmark_settings *set, int *threads) {
  if (py_refuse_keywords(type, kwargs) < 0) return 0;
  return PyArg_ParseTuple(args, "Odddddidi:Newmark", system, &set->dt_s, &set->damping_mass,
                          &set->damping_stiff, &set->beta, &set->gamma, &set->newton_max,
                          &set->tolerance, threads);
}

// An object that owns the given C state; takes it over, also on failure.
static PyObject *wrap(PyTypeObject *type, PyObject *system, rf_newmark *reduced,
                      rf_solid_newmark *solid, int ndim, npy_intp n) {
  py_newmark *self = (py_newmark *)type->tp_alloc(type, 0);
  if (self) {
    self->reduced = reduced;
    self->solid = solid;
    self->ndim = ndim;
    self->shape[0] = n;
    self->shape[1] = 3;
    self->system = Py_NewRef(system);
    self->lock = PyThread_allocate_lock();
    if (!self->lock) {
      PyErr_NoMemory();
      Py_CLEAR(self);
    }
    return (PyObject *)self;
  }
  rf_newmark_free(reduced);
  rf_solid_newmark_free(solid);
  return NULL;
}

static PyObject *reduced_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *system;
  rf_newmark_settings set;
  int threads;
  if (!parse_settings(type, args, kwargs, &system, &set, &threads)) return NULL;
  const rf_reduced *model = py_reduced_get(state, system);
  if (!model) return NULL;
  rf_newmark *s = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_newmark_create(model, &set, &s, &err);
  Py_END_ALLOW_THREADS
  return st < 0 ? py_raise(state, st, &err) : wrap(type, system, s, NULL, 1, model->r);
}

static PyObject *solid_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *system;
  rf_newmark_settings set;
  int threads;
  py_run run;
  if (!parse_settings(type, args, kwargs, &system, &set, &threads)) return NULL;
  const rf_solid *model = py_solid_get(state, system);
  if (!model || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  rf_solid_newmark *s = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_solid_newmark_create(model, &run.run, &set, &s, &err);
  Py_END_ALLOW_THREADS
  return st < 0 ? py_raise(state, st, &err) : wrap(type, system, NULL, s, 2, model->mesh->n_nodes);
}

// No tp_clear: a system refers to no simulation, so no cycle runs through here, and a
// simulation without its system must not exist.
static int newmark_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((py_newmark *)self)->system);
  return 0;
}

static void newmark_dealloc(PyObject *object) {
  py_newmark *self = (py_newmark *)object;
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  rf_newmark_free(self->reduced);
  rf_solid_newmark_free(self->solid);
  if (self->lock) PyThread_free_lock(self->lock);
  Py_CLEAR(self->system);
  type->tp_free(object);
  Py_DECREF(type);
}

// A state vector, or NULL data when `object` is None.
static int vector_in(const py_newmark *self, py_in *in, PyObject *object, const char *name) {
  *in = (py_in){0};
  if (object == Py_None) return 0;
  return self->ndim == 1 ? py_in_f64(in, object, name, 1, self->shape)
                         : py_in_field(in, object, name, self->shape[0]);
}

// reduced steps between two looks at signals: a few milliseconds
enum { REDUCED_CHUNK = 256 };

static rf_status step_reduced(rf_newmark *s, const double *force, int64_t n, rf_error *err) {
  const rf_status st = rf_newmark_step_rt(s, force, n);
  return st < 0 ? rf_newmark_diverged(s->time_s, err) : st;
}

PyDoc_STRVAR(step_doc,
             "step($self, force, n, progress, threads, /)\n--\n\n"
             "n steps under a constant force (None: zero).");
static PyObject *step(PyObject *object, PyObject *args) {
  py_newmark *self = (py_newmark *)object;
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
  const int64_t chunk = self->reduced ? REDUCED_CHUNK : 1;
  const rf_run quiet = {.threads = threads};
  for (int64_t done = 0; done < n && st >= 0;) {
    const int64_t count = n - done < chunk ? n - done : chunk;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    st = self->reduced ? step_reduced(self->reduced, force.data, count, &err)
                       : rf_solid_newmark_step(self->solid, &quiet, force.data, count, &err);
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
  py_newmark *self = (py_newmark *)object;
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
  st = self->reduced
           ? rf_newmark_reset(self->reduced, in[0].data, in[1].data, in[2].data, &err)
           : rf_solid_newmark_reset(self->solid, &quiet, in[0].data, in[1].data, in[2].data, &err);
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
  py_newmark *self = (py_newmark *)object;
  PyObject *out[3], *result = NULL;
  for (int i = 0; i < 3; ++i) out[i] = py_new_f64(self->ndim, self->shape);
  if (out[0] && out[1] && out[2]) {
    double *to[3] = {py_f64(out[0]), py_f64(out[1]), py_f64(out[2])};
    const size_t count = (size_t)(self->shape[0] * (self->ndim == 2 ? 3 : 1));
    double time_s;
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    const rf_newmark *s = self->reduced;
    const double *from[3] = {s ? s->q : rf_solid_newmark_u(self->solid),
                             s ? s->qdot : rf_solid_newmark_v(self->solid),
                             s ? s->qddot : rf_solid_newmark_a(self->solid)};
    for (int i = 0; i < 3; ++i)
      for (size_t d = 0; d < count; ++d) to[i][d] = from[i][d];
    time_s = s ? s->time_s : rf_solid_newmark_time(self->solid);
    PyThread_release_lock(self->lock);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("(OOOd)", out[0], out[1], out[2], time_s);
  }
  for (int i = 0; i < 3; ++i) Py_XDECREF(out[i]);
  return result;
}

PyDoc_STRVAR(report_doc,
             "report($self, /)\n--\n\n"
             "Dict with steps, solves, indefinite, unconverged and residual since the last reset.");
static PyObject *read_report(PyObject *object, PyObject *unused) {
  (void)unused;
  py_newmark *self = (py_newmark *)object;
  rf_newmark_report r;
  Py_BEGIN_ALLOW_THREADS
  PyThread_acquire_lock(self->lock, WAIT_LOCK);
  r = self->reduced ? self->reduced->report : rf_solid_newmark_report(self->solid);
  PyThread_release_lock(self->lock);
  Py_END_ALLOW_THREADS
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:d}", "steps", (long long)r.steps, "solves",
                       (long long)r.solves, "indefinite", (long long)r.indefinite, "unconverged",
                       (long long)r.unconverged, "residual", r.residual);
}

PyDoc_STRVAR(time_doc,
             "time_steps($self, force, runs, inner, /)\n--\n\n"
             "Seconds per step of each of `runs` batches of `inner` steps. For benchmarks: no\n"
             "Python in between.");
static PyObject *time_steps(PyObject *object, PyObject *args) {
  py_newmark *self = (py_newmark *)object;
  PyObject *force_obj, *out = NULL;
  int runs, inner;
  py_in force;
  if (!PyArg_ParseTuple(args, "Oii:time_steps", &force_obj, &runs, &inner)) return NULL;
  if (runs < 1 || inner < 1)
    return py_fail(py_state_of_object(object), "InputError", "runs and inner must be at least 1");
  if (vector_in(self, &force, force_obj, "force") < 0) return NULL;
  rf_status st = RF_OK;
  out = py_new_f64(1, (npy_intp[]){runs});
  if (out) {
    double *seconds = py_f64(out);
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    for (int i = 0; i < runs && st >= 0; ++i) {
      const double start = py_now_s();
      st = rf_newmark_step_rt(self->reduced, force.data, inner);
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

PyDoc_STRVAR(reduced_doc,
             "NewmarkReduced(system, dt, alpha, beta_damping, beta, gamma, newton_max, tol, "
             "threads, /)\n--\n\n"
             "Implicit Newmark simulation of a Reduced.");
PyDoc_STRVAR(solid_doc,
             "NewmarkSolid(system, dt, alpha, beta_damping, beta, gamma, newton_max, tol, "
             "threads, /)\n--\n\n"
             "Implicit Newmark simulation of a Solid.");

static PyType_Slot reduced_slots[] = {
    {Py_tp_new, reduced_new},           {Py_tp_dealloc, newmark_dealloc},
    {Py_tp_traverse, newmark_traverse}, {Py_tp_methods, reduced_methods},
    {Py_tp_doc, (void *)reduced_doc},   {0, NULL},
};

static PyType_Slot solid_slots[] = {
    {Py_tp_new, solid_new},   {Py_tp_dealloc, newmark_dealloc}, {Py_tp_traverse, newmark_traverse},
    {Py_tp_methods, methods}, {Py_tp_doc, (void *)solid_doc},   {0, NULL},
};

PyType_Spec py_newmark_reduced_spec = {
    .name = "reducedfem._core.NewmarkReduced",
    .basicsize = sizeof(py_newmark),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = reduced_slots,
};

PyType_Spec py_newmark_solid_spec = {
    .name = "reducedfem._core.NewmarkSolid",
    .basicsize = sizeof(py_newmark),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = solid_slots,
};
