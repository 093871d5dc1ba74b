// The types _core.NewmarkReduced, NewmarkProjected, NewmarkSolid, CentralReduced and CentralSolid:
// a simulation each, guarded by a lock of its own so that threads may share it.
#include "pyext/py_simulation.h"

#include <string.h>

#include "base/alloc.h"
#include "pyext/py_contact.h"
#include "pyext/py_convert.h"
#include "pyext/py_damping.h"
#include "pyext/py_object.h"
#include "pyext/py_projected.h"
#include "pyext/py_reduced.h"
#include "pyext/py_schemes.h"
#include "pyext/py_solid.h"
#include "world/driven.h"

typedef struct py_simulation {
  py_object object;  // holds the state of the scheme, which borrows from the system and the
                     // strain-rate damping that it keeps
  const py_scheme *scheme;
  int64_t chunk;      // steps between two looks at signals
  npy_intp shape[2];  // of the state vectors
  int ndim;
} py_simulation;

static rf_newmark *reduced_newmark(py_state *state, PyObject *object) {
  return py_require_type(state, object, PY_NEWMARK_REDUCED, "simulation",
                         "ImplicitNewmark of a ReducedSolid") < 0
             ? NULL
             : py_held(object);
}

int py_newmark_copy(py_state *state, PyObject *object, rf_newmark **out) {
  *out = NULL;
  if (object == Py_None) return 0;
  const rf_newmark *from = reduced_newmark(state, object);
  if (!from) return -1;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  py_lock(object);
  st = rf_newmark_create(from->model, &from->set, out, &err);
  if (st >= 0) st = rf_newmark_take(*out, from, &err);
  py_unlock(object);
  Py_END_ALLOW_THREADS
  if (st >= 0) return 0;
  rf_newmark_free(*out);
  *out = NULL;
  py_raise(state, st, &err);
  return -1;
}

int py_newmark_restore(py_state *state, PyObject *object, const rf_newmark *from) {
  rf_newmark *to = reduced_newmark(state, object);
  if (!to) return -1;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  py_lock(object);
  st = rf_newmark_take(to, from, &err);
  py_unlock(object);
  Py_END_ALLOW_THREADS
  if (st >= 0) return 0;
  py_raise(state, st, &err);
  return -1;
}

// An object that owns the given C state; takes it over, also on failure.
static PyObject *wrap(PyTypeObject *type, PyObject *system, PyObject *damping,
                      const py_scheme *scheme, int64_t chunk, void *owned, npy_intp n) {
  PyObject *kept = PyTuple_Pack(2, system, damping);
  if (!kept) {
    scheme->release(owned);
    return NULL;
  }
  PyObject *object = py_object_new_locked(type, owned, scheme->release, kept);
  Py_DECREF(kept);
  if (!object) return NULL;
  py_simulation *self = (py_simulation *)object;
  self->scheme = scheme;
  self->chunk = chunk;
  self->ndim = scheme->kind == PY_IS_SOLID ? 2 : 1;
  self->shape[0] = n;
  self->shape[1] = 3;
  return object;
}

// A state vector of n coordinates or nodes, or NULL data when `object` is None.
static int state_vector_in(py_in *in, PyObject *object, const char *name, py_system_kind kind,
                           npy_intp n) {
  *in = (py_in){0};
  if (object == Py_None) return 0;
  return kind == PY_IS_SOLID ? py_in_field(in, object, name, n)
                             : py_in_f64(in, object, name, 1, &n);
}

static PyObject *simulation_new(const py_scheme *scheme, PyTypeObject *type, PyObject *args,
                                PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *system, *damping = Py_None, *load_obj = Py_None;
  rf_newmark_settings set = {0};
  int threads;
  py_run run;
  py_in viscosity = {0}, load = {0};
  const void *model;
  npy_intp n;
  int64_t chunk = 1;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (scheme->implicit
          ? !PyArg_ParseTuple(args, "Odddddidi|OO:Newmark", &system, &set.dt_s, &set.damping_mass,
                              &set.damping_stiff, &set.beta, &set.gamma, &set.newton_max,
                              &set.tolerance, &threads, &damping, &load_obj)
          : !PyArg_ParseTuple(args, "Odddi|OO:Central", &system, &set.dt_s, &set.damping_mass,
                              &set.damping_stiff, &threads, &damping, &load_obj))
    return NULL;
  if (scheme->kind == PY_IS_REDUCED) {
    const rf_reduced *reduced = py_reduced_get(state, system);
    if (!reduced || py_damping_in(state, damping, &set.strain_rate) < 0) return NULL;
    chunk = py_step_chunk(py_step_work(reduced, &set));
    model = reduced;
    n = reduced->r;
  } else if (scheme->kind == PY_IS_PROJECTED) {
    const rf_projected *projected = py_projected_get(state, system);
    if (!projected || py_viscosity_in(&viscosity, damping, projected->solid) < 0) return NULL;
    set.viscosity = viscosity.data;
    damping = Py_None;  // copied
    model = projected;
    n = projected->r;
  } else {
    const rf_solid *solid = py_solid_get(state, system);
    if (!solid || py_viscosity_in(&viscosity, damping, solid) < 0) return NULL;
    set.viscosity = viscosity.data;
    damping = Py_None;  // copied
    model = solid;
    n = solid->mesh->n_nodes;
  }
  PyObject *result = NULL;
  if (py_run_init(state, &run, NULL, threads) < 0 ||
      state_vector_in(&load, load_obj, "gravity", scheme->kind, n) < 0)
    goto done;
  set.load = load.data;
  void *s = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = scheme->create(model, &run.run, &set, &s, &err);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : wrap(type, system, damping, scheme, chunk, s, n);
done:
  py_in_release(&viscosity);
  py_in_release(&load);
  return result;
}

static int vector_in(const py_simulation *self, py_in *in, PyObject *object, const char *name) {
  return state_vector_in(in, object, name, self->scheme->kind, self->shape[0]);
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
  const int64_t chunk = self->chunk;
  const rf_run quiet = {.threads = threads};
  for (int64_t done = 0; done < n && st >= 0;) {
    const int64_t count = n - done < chunk ? n - done : chunk;
    py_lock(object);
    st = self->scheme->step(self->object.held, &quiet, force.data, count, &err);
    py_unlock(object);
    done += count;
    if (st >= 0) st = rf_run_progress(&run.run, done, n, &err);
  }
  Py_END_ALLOW_THREADS
  py_in_release(&force);
  if (st < 0) return py_raise(state, st, &err);
  Py_RETURN_NONE;
}

// n steps in contact, arrays of which have a row a step.
typedef struct driven {
  PyObject *simulation, *contact;
  const double *force, *positions, *quaternions, *field_qs;
  double *reduced, *field_reduced;
  rf_penalty_result *found;
  npy_intp r, s;  // coordinates of the shell and of the field
} driven;

// Both are locked for a chunk of steps only, the simulation first.
static rf_status drive(const driven *d, rf_driven *work, int64_t from, int64_t end, rf_error *err) {
  rf_newmark *simulation = py_held(d->simulation);
  rf_penalty *penalty = py_held(d->contact);
  rf_status st = RF_OK;
  py_lock(d->simulation);
  py_lock(d->contact);
  for (int64_t k = from; k < end && st >= 0; ++k) {
    rf_pose pose;
    memcpy(pose.position_m, d->positions + 3 * k, sizeof pose.position_m);
    memcpy(pose.quaternion, d->quaternions + 4 * k, sizeof pose.quaternion);
    st = rf_driven_step_rt(
        work, simulation, penalty, &pose, d->field_qs ? d->field_qs + d->s * k : NULL, d->force,
        d->found + k, d->reduced + d->r * k, d->field_reduced ? d->field_reduced + d->s * k : NULL);
    if (st == RF_ERR_ARG)
      st = rf_fail(err, st, "step %lld: the pose or field_q is no usable number", (long long)k);
    else if (st < 0)
      st = rf_newmark_explain(simulation, "the simulation", "softer contact", err);
  }
  py_unlock(d->contact);
  py_unlock(d->simulation);
  return st;
}

PyDoc_STRVAR(
    contact_doc,
    "step_contact($self, force, contact, positions, quaternions, field_qs, progress, /)\n--\n\n"
    "A step for each pose of the field object: what `Contact.evaluate_many` gives of them.");
static PyObject *step_contact(PyObject *object, PyObject *args) {
  py_simulation *self = (py_simulation *)object;
  py_state *state = py_state_of_object(object);
  PyObject *force_obj, *contact, *positions_obj, *quaternions_obj, *field_qs_obj, *progress;
  PyObject *reduced = NULL, *field_reduced = NULL, *result = NULL;
  py_run run;
  py_in force, positions = {0}, quaternions = {0}, field_qs = {0};
  rf_driven *work = NULL;
  driven d = {.simulation = object};
  rf_error err = {0};
  rf_status st = RF_OK;
  if (!PyArg_ParseTuple(args, "OOOOOO:step_contact", &force_obj, &contact, &positions_obj,
                        &quaternions_obj, &field_qs_obj, &progress))
    return NULL;
  const rf_penalty *penalty = py_contact_get(state, contact);
  if (!penalty || py_run_init(state, &run, progress, 1) < 0 ||
      vector_in(self, &force, force_obj, "force") < 0)
    return NULL;
  d.contact = contact;
  d.r = self->shape[0];
  d.s = rf_penalty_field_coordinates(penalty);
  if (rf_penalty_coordinates(penalty) != d.r) {
    py_fail(state, "InputError",
            "contact is of a shell with %d coordinates, the simulation has %zd",
            (int)rf_penalty_coordinates(penalty), (Py_ssize_t)d.r);
    goto done;
  }
  if (py_in_f64(&positions, positions_obj, "position", 2, (npy_intp[]){PY_ANY, 3}) < 0) goto done;
  const npy_intp n = positions.shape[0];
  if (py_in_f64(&quaternions, quaternions_obj, "quaternion", 2, (npy_intp[]){n, 4}) < 0) goto done;
  if (field_qs_obj != Py_None && !d.s) {
    py_fail(state, "InputError", "field_q is given, but the field does not deform");
    goto done;
  }
  if (field_qs_obj != Py_None &&
      py_in_f64(&field_qs, field_qs_obj, "field_q", 2, (npy_intp[]){n, d.s}) < 0)
    goto done;
  reduced = py_new_f64(2, (npy_intp[]){n, d.r});
  field_reduced = d.s ? py_new_f64(2, (npy_intp[]){n, d.s}) : Py_NewRef(Py_None);
  d.found = rf_alloc((size_t)n, sizeof *d.found);
  if (!d.found) PyErr_NoMemory();
  if (!reduced || !field_reduced || !d.found) goto done;
  d.force = force.data, d.positions = positions.data, d.quaternions = quaternions.data;
  d.field_qs = field_qs.data;
  d.reduced = py_f64(reduced);
  d.field_reduced = d.s ? py_f64(field_reduced) : NULL;
  Py_BEGIN_ALLOW_THREADS
  st = rf_penalty_check_many(penalty, n, d.positions, d.quaternions, NULL, &err);
  if (st >= 0) st = rf_driven_create((int32_t)d.r, &work, &err);
  for (int64_t from = 0; from < n && st >= 0; from += 64) {
    const int64_t end = n - from < 64 ? n : from + 64;
    st = drive(&d, work, from, end, &err);
    if (st >= 0) st = rf_run_progress(&run.run, end, n, &err);
  }
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err)
                  : py_contact_results(n, d.found, reduced, field_reduced, Py_None);
done:
  rf_driven_free(work);
  rf_free(d.found);
  Py_XDECREF(reduced);
  Py_XDECREF(field_reduced);
  py_in_release(&positions);
  py_in_release(&quaternions);
  py_in_release(&field_qs);
  py_in_release(&force);
  return result;
}

PyDoc_STRVAR(
    reset_doc,
    "reset($self, q, qdot, qddot, threads, steps=0, /)\n--\n\n"
    "State after so many steps; None: zero, for qddot: consistent without external force.");
static PyObject *reset(PyObject *object, PyObject *args) {
  py_simulation *self = (py_simulation *)object;
  py_state *state = py_state_of_object(object);
  PyObject *objects[3], *result = NULL;
  int threads;
  long long steps = 0;
  py_run run;  // checks `threads`; no Python is called while the lock is held
  py_in in[3] = {{0}};
  static const char *const names[3] = {"q", "qdot", "qddot"};
  if (!PyArg_ParseTuple(args, "OOOi|L:reset", &objects[0], &objects[1], &objects[2], &threads,
                        &steps))
    return NULL;
  if (steps < 0) return py_fail(state, "InputError", "steps must not be negative");
  if (py_run_init(state, &run, NULL, threads) < 0) return NULL;
  for (int i = 0; i < 3; ++i)
    if (vector_in(self, &in[i], objects[i], names[i]) < 0) goto done;
  rf_error err = {0};
  rf_status st;
  const rf_run quiet = {.threads = threads};
  Py_BEGIN_ALLOW_THREADS
  py_lock(object);
  st = self->scheme->reset(self->object.held, &quiet, in[0].data, in[1].data, in[2].data, &err);
  if (st >= 0) self->scheme->set_steps(self->object.held, steps);
  py_unlock(object);
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
    py_lock(object);
    const py_scheme_state now = self->scheme->look(self->object.held);
    const double *const from[3] = {now.q, now.qdot, now.qddot};
    for (int i = 0; i < 3; ++i)
      for (size_t d = 0; d < count; ++d) to[i][d] = from[i][d];
    time_s = now.time_s;
    py_unlock(object);
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
  py_lock(object);
  r = self->scheme->report(self->object.held);
  py_unlock(object);
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
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:d,s:i,s:i,s:N}", "steps", (long long)r.steps,
                       "solves", (long long)r.solves, "indefinite", (long long)r.indefinite,
                       "shortened", (long long)r.shortened, "unconverged", (long long)r.unconverged,
                       "residual", r.residual, "iterations", (int)r.last_solves, "most_iterations",
                       (int)r.most_solves, "residuals", residuals);
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
    py_lock(object);
    for (int i = 0; i < runs && st >= 0; ++i) {
      const double start = py_now_s();
      st = self->scheme->step(self->object.held, &quiet, force.data, inner, &err);
      seconds[i] = (py_now_s() - start) / inner;
    }
    py_unlock(object);
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

static PyMethodDef newmark_methods[] = {
    {"step", step, METH_VARARGS, step_doc},
    {"step_contact", step_contact, METH_VARARGS, contact_doc},
    {"reset", reset, METH_VARARGS, reset_doc},
    {"state", read_state, METH_NOARGS, state_doc},
    {"report", read_report, METH_NOARGS, report_doc},
    {"time_steps", time_steps, METH_VARARGS, time_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(newmark_reduced_doc,
             "NewmarkReduced(system, dt, alpha, beta_damping, beta, gamma, newton_max, tol, "
             "threads, strain_rate=None, load=None, /)\n--\n\n"
             "Implicit Newmark simulation of a Reduced; strain_rate: a Damping.");
PyDoc_STRVAR(
    newmark_projected_doc,
    "NewmarkProjected(system, dt, alpha, beta_damping, beta, gamma, newton_max, tol, "
    "threads, viscosity=None, load=None, /)\n--\n\n"
    "Implicit Newmark simulation of a Projected; viscosity: phi and psi of its materials.");
PyDoc_STRVAR(newmark_solid_doc,
             "NewmarkSolid(system, dt, alpha, beta_damping, beta, gamma, newton_max, tol, "
             "threads, viscosity=None, load=None, /)\n--\n\n"
             "Implicit Newmark simulation of a Solid; viscosity: phi and psi of its materials.");
PyDoc_STRVAR(central_reduced_doc,
             "CentralReduced(system, dt, alpha, beta_damping, threads, strain_rate=None, "
             "load=None, /)\n--\n\n"
             "Simulation of a Reduced by explicit central differences.");
PyDoc_STRVAR(
    central_solid_doc,
    "CentralSolid(system, dt, alpha, beta_damping, threads, viscosity=None, load=None, /)\n--\n\n"
    "Simulation of a Solid by explicit central differences.");

#define SIMULATION_TYPE(prefix, type_name, method_table)                                \
  static PyObject *prefix##_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) { \
    return simulation_new(&py_##prefix, type, args, kwargs);                            \
  }                                                                                     \
  static PyType_Slot prefix##_slots[] = {                                               \
      {Py_tp_new, prefix##_new},                                                        \
      {Py_tp_dealloc, py_object_dealloc},                                               \
      {Py_tp_traverse, py_object_traverse},                                             \
      {Py_tp_methods, method_table},                                                    \
      {Py_tp_doc, (void *)prefix##_doc},                                                \
      {0, NULL},                                                                        \
  };                                                                                    \
  PyType_Spec py_##prefix##_spec = {                                                    \
      .name = "reducedfem._core." type_name,                                            \
      .basicsize = sizeof(py_simulation),                                               \
      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,      \
      .slots = prefix##_slots,                                                          \
  }

SIMULATION_TYPE(newmark_reduced, "NewmarkReduced", newmark_methods);
SIMULATION_TYPE(newmark_projected, "NewmarkProjected", methods);
SIMULATION_TYPE(newmark_solid, "NewmarkSolid", methods);
SIMULATION_TYPE(central_reduced, "CentralReduced", reduced_methods);
SIMULATION_TYPE(central_solid, "CentralSolid", methods);
