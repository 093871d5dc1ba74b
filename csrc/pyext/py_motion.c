// The type _core.Motion: a system in motion by a time integrator, guarded by a lock of its own so
// that threads may share it.
#include "pyext/py_motion.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "pyext/py_barrier.h"
#include "pyext/py_convert.h"
#include "pyext/py_object.h"
#include "pyext/py_proxy.h"
#include "pyext/py_settings.h"
#include "pyext/py_source.h"

typedef struct py_motion {
  py_object object;   // holds an rf_motion, which borrows from the system, the strain-rate
                      // damping and the barrier that it keeps
  int64_t chunk;      // steps between two checks for signals
  npy_intp shape[2];  // of the state vectors
  int ndim;
  npy_intp modes[3];
  PyObject *proxies;              // sorted tuple of those that it touches, kept; NULL: none
  _Atomic(unsigned long) holder;  // thread that holds the lock while functions of a system in
                                  // Python may be called; 0: none
} py_motion;

static void lock_calling(PyObject *object) {
  py_motion *self = (py_motion *)object;
  py_lock(object);
  py_proxies_lock(self->proxies);
  self->holder = PyThread_get_thread_ident();
}

static void unlock_calling(PyObject *object) {
  py_motion *self = (py_motion *)object;
  self->holder = 0;
  py_proxies_unlock(self->proxies);
  py_unlock(object);
}

// -1 with an exception set if such a function calls its own simulation: it would wait for the lock
// that it holds.
static int refuse_within(PyObject *object) {
  if (((py_motion *)object)->holder != PyThread_get_thread_ident()) return 0;
  py_fail(py_state_of_object(object), PY_INPUT_ERROR,
          "a function of the system uses the simulation that calls it; it may use x only");
  return -1;
}

enum { MOST_STEPS = 256, MOST_JOINT = 8 };
static const double JOINT = 30.0;          // a factor of a joint solve takes n^3 / 3, in blocks
static const double WORK_PER_CHUNK = 1e7;  // numbers read; a core reads a few per ns

double py_step_work(const rf_motion *m) {
  return m->system->step_numbers * (m->set.newton_max > 1 ? m->set.newton_max : 1);
}

int64_t py_step_chunk(double work) {
  if (!(work > 0.0)) return 1;
  const double steps = WORK_PER_CHUNK / work;
  return steps < 1.0 ? 1 : steps < MOST_STEPS ? (int64_t)steps : MOST_STEPS;
}

int py_motion_settings_in(py_state *state, const char *scheme, PyObject *dict, const char *of,
                          rf_motion_settings *set) {
  const rf_scheme *found = set->scheme = rf_scheme_find(scheme);
  if (!found) {
    py_fail(state, PY_INPUT_ERROR, "there is no time integrator %s", scheme);
    return -1;
  }
  set->own = found->settings_bytes ? rf_alloc(found->settings_bytes, 1) : NULL;
  if (found->settings_bytes && !set->own) {
    PyErr_SetString(PyExc_MemoryError, "out of memory: the settings of a time integrator");
    return -1;
  }
  const py_settings all[] = {{found->settings, set->own}, {rf_motion_settings_of(found), set}};
  return py_settings_in_all(state, dict, of, 2, all);
}

rf_motion *py_motion_coupled(py_state *state, PyObject *object) {
  rf_motion *m = Py_TYPE(object) == state->types[PY_MOTION] ? py_held(object) : NULL;
  if (m && m->barrier) {
    py_fail(state, PY_INPUT_ERROR,
            "simulation has a BarrierContact, whose iterations have no bound in time: make one "
            "without `contact` for sessions and for contact in `step`");
    return NULL;
  }
  if (m && m->system->life->copy && rf_scheme_takes_contact(m->set.scheme) && !m->subspace)
    return m;
  py_fail(state, PY_INPUT_TYPE_ERROR,
          "simulation must be an implicit integrator of a ReducedSolid with one stage a step, such "
          "as ImplicitNewmark or BDF2, got %s",
          !m                                  ? Py_TYPE(object)->tp_name
          : !m->system->life->copy            ? "one of another system"
          : m->subspace                       ? "one with exact modes"
          : rf_scheme_iterates(m->set.scheme) ? "one with two stages a step"
                                              : "an explicit one");
  return NULL;
}

int py_motion_copy(py_state *state, PyObject *object, rf_motion **out) {
  *out = NULL;
  if (object == Py_None) return 0;
  const rf_motion *from = py_motion_coupled(state, object);
  if (!from) return -1;
  rf_error err = {0};
  rf_status st;
  PY_UNDER_LOCK(object, st = rf_motion_clone(from, NULL, out, &err));
  return py_done(state, st, &err);
}

int py_motion_restore(py_state *state, PyObject *object, const rf_motion *from) {
  rf_motion *to = py_motion_coupled(state, object);
  if (!to) return -1;
  rf_error err = {0};
  rf_status st;
  PY_UNDER_LOCK(object, st = rf_motion_take(to, from, &err));
  return py_done(state, st, &err);
}

static void release(void *motion) { rf_motion_free(motion); }

static PyObject *motion_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *system, *settings, *strain_rate = Py_None, *load_obj = Py_None, *result = NULL;
  PyObject *barrier = Py_None, *proxy_obj = Py_None;
  PyObject *kept = NULL;
  const char *name;
  rf_motion_settings set = {0};
  rf_motion *motion = NULL;
  rf_system *moved;
  py_source from = {0};
  int threads;
  py_run run;
  py_in load = {0};
  py_proxies proxies = {0};
  int inside = 0;
  rf_error err = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "sO(dd)Oi|OOOpO:Motion", &name, &system, &from.damping.mass,
                        &from.damping.stiffness, &settings, &threads, &strain_rate, &load_obj,
                        &barrier, &inside, &proxy_obj) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  if (py_motion_settings_in(state, name, settings, name, &set) < 0 ||
      py_barrier_in(state, barrier, &set.barrier) < 0)
    goto done;
  const py_system_kind *kind = py_source_in(state, system, strain_rate, &from);
  if (!kind || py_source_vector_in(&from, &load, load_obj, "gravity") < 0) goto done;
  if (py_proxies_in(state, proxy_obj, &from, &proxies) < 0) goto done;
  set.load = load.data;
  set.collide = proxies.sorted ? &proxies.set : NULL;
  from.damping.inside_s = inside ? set.dt_s : 0.0;
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = kind->create(from.model, &run.run, &from.damping, rf_motion_steps_of(set.scheme), &moved,
                    &err);
  if (st >= 0) st = rf_motion_create(moved, &set, &run.run, &motion, &err);
  Py_END_ALLOW_THREADS
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  PyObject *rate = from.damping.strain_rate ? strain_rate : Py_None;
  PyObject *touched = barrier != Py_None ? barrier : proxies.sorted;
  kept = PyTuple_Pack(touched ? 3 : 2, system, rate, touched);
  result = kept ? py_object_new_locked(type, motion, release, kept) : NULL;
  if (!kept) release(motion);
  if (!result) goto done;
  py_motion *self = (py_motion *)result;
  self->chunk = py_step_chunk(py_step_work(motion));
  self->ndim = from.ndim;
  self->proxies = proxies.sorted;
  self->shape[0] = from.n;
  self->shape[1] = 3;
done:
  Py_XDECREF(kept);
  rf_free(set.own);
  py_source_release(&from);
  py_in_release(&load);
  py_proxies_release(&proxies);
  return result;
}

static int vector_in(const py_motion *self, py_in *in, PyObject *object, const char *name) {
  const py_source form = {.n = self->shape[0], .ndim = self->ndim};
  return py_source_vector_in(&form, in, object, name);
}

// Steps until the next check.  Joint solves of contacts may begin in any of them.
static int64_t chunk_of(const py_motion *self, const rf_motion *m) {
  if (!m->collide || !m->collide->inside) return self->chunk;
  const double size = 3.0 * m->collide->n_joint;
  const int64_t chunk = py_step_chunk(py_step_work(m) + size * size * size / JOINT);
  return chunk < MOST_JOINT ? chunk : MOST_JOINT;
}

// Makes steps of dt_s, or of the usual length where it is 0.
static rf_status step_of(rf_motion *m, const rf_run *run, const double *force, int64_t n,
                         double dt_s, rf_error *err) {
  const double usual = m->set.dt_s;
  rf_status st = dt_s == 0.0 ? RF_OK : rf_motion_set_dt(m, dt_s, err);
  if (st < 0) return st;
  st = rf_motion_step(m, run, force, n, err);
  const rf_status back = rf_motion_set_dt(m, usual, err);
  return st < 0 ? st : back;
}

PyDoc_STRVAR(
    step_doc,
    "step($self, force, n, progress, threads, dt=0.0, /)\n--\n\n"
    "n steps under a constant force (None: zero), of dt instead of the usual. Returns the number "
    "of them in which an\n"
    "increment was shortened, and an upper bound of the displacement by the last one over the\n"
    "diagonal of a reduced body.");
static PyObject *step(PyObject *object, PyObject *args) {
  py_motion *self = (py_motion *)object;
  py_state *state = py_state_of_object(object);
  PyObject *force_obj, *progress;
  long long n;
  int threads;
  double dt = 0.0;
  py_run run;
  py_in force;
  if (!PyArg_ParseTuple(args, "OLOi|d:step", &force_obj, &n, &progress, &threads, &dt)) return NULL;
  if (n < 0) return py_fail(state, PY_INPUT_ERROR, "n must be at least 0, got %lld", n);
  if (refuse_within(object) < 0 || py_run_init(state, &run, progress, threads) < 0 ||
      vector_in(self, &force, force_obj, "force") < 0)
    return NULL;
  rf_error err = {0};
  rf_status st = RF_OK;
  int64_t shortened = 0;
  double farthest = 0.0;
  py_interrupt signal;
  if (py_interrupt_init(&signal) < 0) {
    py_in_release(&force);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS
  // the lock is held for a chunk of steps only, and not while progress is reported: callables and
  // other threads may read the simulation in between
  rf_run quiet = {.threads = threads, .progress_context = &signal};
  lock_calling(object);
  rf_collide *const contact = ((rf_motion *)self->object.held)->collide;
  for (int32_t k = 0; contact && k < contact->n_bodies; ++k)
    memset(contact->body[k].impulse, 0, sizeof contact->body[k].impulse);
  if (contact && contact->inside && signal.of_main) quiet.progress = py_interrupt_look;
  int64_t chunk = chunk_of(self, self->object.held);
  unlock_calling(object);
  for (int64_t done = 0; done < n && st >= 0;) {
    const int64_t count = n - done < chunk ? n - done : chunk;
    lock_calling(object);
    rf_motion *motion = self->object.held;
    const int64_t before = motion->report.shortened_steps, steps = motion->report.steps;
    st = step_of(motion, &quiet, force.data, count, dt, &err);
    shortened += motion->report.shortened_steps - before;
    farthest = rf_motion_farthest(motion);
    chunk = chunk_of(self, motion);
    done += st >= 0 ? count : motion->report.steps - steps;
    unlock_calling(object);
    // steps continue if the handlers raise nothing; a step that was stopped begins again, so that
    // signals more frequent than its solve let it never end
    if (py_interrupt_return(&signal, &run) && st == RF_ERR_INTERRUPTED)
      st = rf_run_poll(&run.run, &err);
    if (st >= 0) st = rf_run_progress(&run.run, done, n, &err);
  }
  Py_END_ALLOW_THREADS
  py_in_release(&force);
  if (st < 0) return py_raise(state, st, &err);
  return Py_BuildValue("(Ld)", (long long)shortened, farthest);
}

// Shape of the modes that the next step depends on; NULL: on none.
static const npy_intp *modes_shape(py_motion *self) {
  const rf_motion *m = self->object.held;
  int32_t shape[3];
  if (!rf_motion_modes_shape(m, shape)) return NULL;
  for (int i = 0; i < 3; ++i) self->modes[i] = shape[i];
  return self->modes;
}

PyDoc_STRVAR(
    reset_doc,
    "reset($self, q, qdot, qddot, threads, steps=0, last=(None, None), modes=None, pace=None, /)\n"
    "--\n\n"
    "State after so many steps; None: zero, for qddot: consistent without external force.\n"
    "last, modes, pace: as of whole_state, or a pair of None.");
static PyObject *reset(PyObject *object, PyObject *args) {
  py_motion *self = (py_motion *)object;
  py_state *state = py_state_of_object(object);
  PyObject *objects[5] = {NULL, NULL, NULL, Py_None, Py_None}, *result = NULL;
  PyObject *modes_obj = Py_None, *pace_obj = Py_None;
  int threads;
  long long steps = 0;
  py_run run;  // checks `threads`
  py_in in[5] = {{0}}, modes = {0}, pace = {0};
  static const char *const names[5] = {"q", "qdot", "qddot", "step", "step_rate"};
  if (!PyArg_ParseTuple(args, "OOOi|L(OO)OO:reset", &objects[0], &objects[1], &objects[2], &threads,
                        &steps, &objects[3], &objects[4], &modes_obj, &pace_obj))
    return NULL;
  if (steps < 0) return py_fail(state, PY_INPUT_ERROR, "steps must not be negative");
  if (refuse_within(object) < 0 || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  for (int i = 0; i < 5; ++i)
    if (vector_in(self, &in[i], objects[i], names[i]) < 0) goto done;
  if (!in[3].data != !in[4].data) {
    py_fail(state, PY_INPUT_ERROR, "step and step_rate go together");
    goto done;
  }
  const npy_intp *size = modes_shape(self);
  if (modes_obj != Py_None && !size) {
    py_fail(state, PY_INPUT_ERROR, "modes are given to a motion without any that follow");
    goto done;
  }
  if (modes_obj != Py_None && py_in_f64(&modes, modes_obj, "modes", 3, size) < 0) goto done;
  if (pace_obj != Py_None &&
      py_in_f64(&pace, pace_obj, "pace", 1,
                (npy_intp[]){(npy_intp)rf_motion_pace_size(self->object.held)}) < 0)
    goto done;
  rf_error err = {0};
  rf_status st;
  const rf_run quiet = {.threads = threads};
  Py_BEGIN_ALLOW_THREADS
  lock_calling(object);
  st = rf_motion_reset(self->object.held, &quiet, in[0].data, in[1].data, in[2].data, &err);
  if (st >= 0) rf_motion_set_steps(self->object.held, steps);
  if (st >= 0 && in[3].data) rf_motion_recall(self->object.held, in[3].data, in[4].data);
  if (st >= 0 && modes.data) rf_motion_recall_modes(self->object.held, modes.data);
  if (st >= 0 && pace.data) st = rf_motion_recall_pace(self->object.held, pace.data, &err);
  unlock_calling(object);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : Py_NewRef(Py_None);
done:
  for (int i = 0; i < 5; ++i) py_in_release(&in[i]);
  PY_IN_RELEASE(&modes, &pace);
  return result;
}

// (q, qdot, qddot, time), and with `whole` also (step, step_rate), modes and pace, each or None:
// copies of one moment.
static PyObject *read_vectors(PyObject *object, bool whole) {
  py_motion *self = (py_motion *)object;
  const int n = whole ? 5 : 3;
  const npy_intp *size = whole ? modes_shape(self) : NULL;
  const bool varies = whole && ((const rf_motion *)py_held(object))->set.scheme->varies;
  const npy_intp pace = (npy_intp)rf_motion_pace_size(py_held(object));
  PyObject *out[7] = {NULL}, *result = NULL;
  bool made = true, follows = false, sweeps = false;
  if (refuse_within(object) < 0) return NULL;
  for (int i = 0; i < n; ++i) made &= (out[i] = py_new_f64(self->ndim, self->shape)) != NULL;
  if (size) made &= (out[5] = py_new_f64(3, (npy_intp[]){size[0], size[1], size[2]})) != NULL;
  if (varies) made &= (out[6] = py_new_f64(1, (npy_intp[]){pace})) != NULL;
  if (made) {
    const size_t count = (size_t)(self->shape[0] * (self->ndim == 2 ? 3 : 1));
    double time_s, *to[7] = {NULL};
    for (int i = 0; i < 7; ++i) to[i] = out[i] ? py_f64(out[i]) : NULL;
    Py_BEGIN_ALLOW_THREADS
    py_lock(object);
    py_proxies_lock(self->proxies);  // their moves are compared
    const rf_motion *now = self->object.held;
    const double *const from[5] = {now->q, now->qdot, now->qddot, now->step, now->step_rate};
    for (int i = 0; i < n; ++i) memcpy(to[i], from[i], count * sizeof **to);
    time_s = now->time_s;
    follows = now->follows;
    sweeps = size && rf_motion_modes(now, to[5]);
    if (varies) rf_motion_pace(now, to[6]);
    py_proxies_unlock(self->proxies);
    py_unlock(object);
    Py_END_ALLOW_THREADS
    PyObject *last = !whole || !follows ? Py_NewRef(Py_None) : PyTuple_Pack(2, out[3], out[4]);
    if (whole && last)
      result = Py_BuildValue("(OOOdOOO)", out[0], out[1], out[2], time_s, last,
                             sweeps ? out[5] : Py_None, varies ? out[6] : Py_None);
    else if (last)
      result = Py_BuildValue("(OOOd)", out[0], out[1], out[2], time_s);
    Py_XDECREF(last);
  }
  for (int i = 0; i < 7; ++i) Py_XDECREF(out[i]);
  return result;
}

PyDoc_STRVAR(state_doc,
             "state($self, /)\n--\n\n"
             "(q, qdot, qddot, time): copies.");
static PyObject *read_state(PyObject *object, PyObject *unused) {
  (void)unused;
  return read_vectors(object, false);
}

PyDoc_STRVAR(
    whole_doc,
    "whole_state($self, /)\n--\n\n"
    "(q, qdot, qddot, time, last, modes, pace): last are the changes (q, qdot) of the last step\n"
    "where the next one depends on them, modes the vectors of a sweep (4, k, n), pace numbers of\n"
    "steps whose length varies; else None.");
static PyObject *read_whole_state(PyObject *object, PyObject *unused) {
  (void)unused;
  return read_vectors(object, true);
}

PyDoc_STRVAR(report_doc,
             "report($self, /)\n--\n\n"
             "Dict of what happened since the last reset; with steps only unless steps iterate.");
static PyObject *read_report(PyObject *object, PyObject *unused) {
  (void)unused;
  py_motion *self = (py_motion *)object;
  const rf_motion *m = self->object.held;
  rf_motion_report r;
  int64_t solved, unsolved;
  if (refuse_within(object) < 0) return NULL;
  Py_BEGIN_ALLOW_THREADS
  py_lock(object);
  r = m->report;
  solved = m->system->iterations;
  unsolved = m->collide ? m->collide->n_unsolved : 0;
  py_unlock(object);
  Py_END_ALLOW_THREADS
  if (m->set.scheme->exact)
    return Py_BuildValue("{s:L,s:L}", "steps", (long long)r.steps, "vectors", (long long)r.solves);
  if (!rf_scheme_iterates(m->set.scheme))
    return Py_BuildValue("{s:L,s:L,s:L}", "steps", (long long)r.steps, "iterations",
                         (long long)solved, "unsolved", (long long)unsolved);
  PyObject *residuals = PyTuple_New(r.n_history);
  for (int32_t i = 0; residuals && i < r.n_history; ++i) {
    PyObject *value = PyFloat_FromDouble(r.history[i]);
    if (value)
      PyTuple_SET_ITEM(residuals, i, value);
    else
      Py_CLEAR(residuals);
  }
  if (!residuals) return NULL;
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:d,s:d,s:d,s:i,s:i,s:N,s:L,s:d}", "steps",
                       (long long)r.steps, "solves", (long long)r.solves, "indefinite",
                       (long long)r.indefinite, "projected", (long long)r.projected, "shortened",
                       (long long)r.shortened, "shortened_steps", (long long)r.shortened_steps,
                       "unconverged", (long long)r.unconverged, "examined", (long long)r.examined,
                       "missed", r.examined > 0 ? r.missed / (double)r.examined : 0.0, "residual",
                       r.residual, "worst_residual", r.worst, "iterations", (int)r.last_solves,
                       "most_iterations", (int)r.most_solves, "residuals", residuals, "refreshes",
                       (long long)r.refreshes, "drift", r.drift);
}

PyDoc_STRVAR(strain_doc,
             "strain($self, /)\n--\n\n"
             "Largest Green strain of a cubature seen since the last reset: some points a step.");
static PyObject *read_strain(PyObject *object, PyObject *unused) {
  (void)unused;
  double strain;
  PY_UNDER_LOCK(object, strain = ((rf_motion *)py_held(object))->report.strain);
  return PyFloat_FromDouble(strain);
}

PyDoc_STRVAR(
    barrier_doc,
    "barrier_state($self, /)\n--\n\n"
    "(nodes, obstacles, distances, normals, normal forces, friction, smallest distance) of\n"
    "contact by a barrier with obstacles, and (nodes, weights, distances, normals, normal\n"
    "forces) of that of parts; None: there is none.");
static PyObject *read_barrier(PyObject *object, PyObject *unused) {
  (void)unused;
  const rf_barrier_work *work = ((rf_motion *)py_held(object))->barrier;
  if (!work) Py_RETURN_NONE;
  py_barrier_pairs copy;
  rf_error err = {0};
  rf_status st;
  PyObject *result;
  PY_UNDER_LOCK(object, st = py_barrier_copy(work, &copy, &err));
  result = st < 0 ? py_raise(py_state_of_object(object), st, &err)
                  : py_barrier_state(work->barrier, &copy);
  py_barrier_release(&copy);
  return result;
}

PyDoc_STRVAR(
    proxy_doc,
    "proxy_results($self, /)\n--\n\n"
    "A tuple of (nodes, node forces, force, torque, impulse, position, quaternion, normal force,\n"
    "number of nodes that slide) of contact with each Proxy, on the solid; None: there is none.");
static PyObject *read_proxy(PyObject *object, PyObject *unused) {
  (void)unused;
  return py_proxy_results(object, ((rf_motion *)py_held(object))->collide);
}

PyDoc_STRVAR(
    contact_doc,
    "step_contact($self, force, contact, positions, quaternions, field_qs, progress, /)\n--\n\n"
    "A step for each pose of the field object: what `Contact.evaluate_many` gives of them.");

PyDoc_STRVAR(time_doc,
             "time_steps($self, force, runs, inner, /)\n--\n\n"
             "Seconds per step of each of `runs` batches of `inner` steps. For benchmarks: no\n"
             "Python in between.");
static PyObject *time_steps(PyObject *object, PyObject *args) {
  py_motion *self = (py_motion *)object;
  PyObject *force_obj, *out = NULL;
  int runs, inner;
  py_in force;
  if (!PyArg_ParseTuple(args, "Oii:time_steps", &force_obj, &runs, &inner)) return NULL;
  if (runs < 1 || inner < 1)
    return py_fail(py_state_of_object(object), PY_INPUT_ERROR, "runs and inner must be at least 1");
  if (refuse_within(object) < 0 || vector_in(self, &force, force_obj, "force") < 0) return NULL;
  rf_status st = RF_OK;
  rf_error err = {0};
  const rf_run quiet = {.threads = 1};
  out = py_new_f64(1, (npy_intp[]){runs});
  if (out) {
    double *seconds = py_f64(out);
    Py_BEGIN_ALLOW_THREADS
    lock_calling(object);
    for (int i = 0; i < runs && st >= 0; ++i) {
      const double start = py_now_s();
      st = rf_motion_step(self->object.held, &quiet, force.data, inner, &err);
      seconds[i] = (py_now_s() - start) / inner;
    }
    unlock_calling(object);
    Py_END_ALLOW_THREADS
  }
  py_in_release(&force);
  if (st < 0) {
    Py_CLEAR(out);
    return py_raise(py_state_of_object(object), st, &err);
  }
  return out;
}

static PyMethodDef methods[] = {
    {"step", step, METH_VARARGS, step_doc},
    {"step_contact", py_motion_step_contact, METH_VARARGS, contact_doc},
    {"proxy_results", read_proxy, METH_NOARGS, proxy_doc},
    {"reset", reset, METH_VARARGS, reset_doc},
    {"state", read_state, METH_NOARGS, state_doc},
    {"whole_state", read_whole_state, METH_NOARGS, whole_doc},
    {"report", read_report, METH_NOARGS, report_doc},
    {"strain", read_strain, METH_NOARGS, strain_doc},
    {"barrier_state", read_barrier, METH_NOARGS, barrier_doc},
    {"time_steps", time_steps, METH_VARARGS, time_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(
    motion_doc,
    "Motion(scheme, system, damping, settings, threads, strain_rate=None, load=None,\n"
    "       barrier=None, inside=False, proxy=None, /)\n"
    "--\n\n"
    "A Reduced, Projected, Solid or SecondOrder in motion by a time integrator. damping:\n"
    "(alpha, beta); settings: a dict of what the scheme takes; strain_rate: a Damping of a\n"
    "Reduced, else phi and psi of the materials; barrier: a Barrier of it; inside: explicit steps\n"
    "take damping inside; proxy: (Proxy, nodes that touch it, stable step) of explicit steps of a\n"
    "Solid.");

static PyType_Spec spec = PY_SPEC_KEEPING(
    "Motion", py_motion, {Py_tp_new, motion_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, methods}, {Py_tp_doc, (void *)motion_doc});

const py_room py_motion_room = {.types = {{PY_MOTION, &spec}}};
