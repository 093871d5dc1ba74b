// The type _core.Session: a haptic session, each guarded by a lock.
//
// It keeps the contacts and the device, whose C data the loop borrows, and copies simulations: the
// loop touches no Python object.
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "haptic/session.h"
#include "pyext/py_contact.h"
#include "pyext/py_convert.h"
#include "pyext/py_coupling.h"
#include "pyext/py_device.h"
#include "pyext/py_free_body.h"
#include "pyext/py_motion.h"
#include "pyext/py_object.h"
#include "pyext/py_settings.h"
#include "pyext/py_touch.h"

static rf_session *self_session(PyObject *self) { return py_held(self); }

// Takes no lock in a forked child: the thread that held it does not exist there, and the session no
// longer changes.
static void lock(PyObject *self) {
  if (rf_session_here(self_session(self))) py_lock(self);
}
static void unlock(PyObject *self) {
  if (rf_session_here(self_session(self))) py_unlock(self);
}

static void release(void *held) { (void)rf_session_free(held); }

static void session_dealloc(PyObject *self) {
  py_object *o = (py_object *)self;
  // a cycle that never ends still uses what the session keeps: leak it
  if (!rf_session_free(o->held)) o->kept = NULL;
  o->held = NULL;
  py_object_dealloc(self);
}

// ---- settings ---------------------------------------------------------------------------

typedef struct all_settings {
  rf_tick_settings tick;
  rf_session_settings session;
} all_settings;

#define SETTING(name, field, kind, count) RF_SETTING(all_settings, name, field, kind, count)
static const rf_setting SETTINGS[] = {
    SETTING("dt", tick.dt_s, DOUBLE, 0),
    SETTING("budget_us", tick.budget_us, DOUBLE, 0),
    SETTING("coupled", tick.coupled, BOOL, 0),
    SETTING("saturated", tick.saturated, BOOL, 0),
    SETTING("suited", tick.suited, BOOL, 0),
    SETTING("scale", tick.workspace.scale, DOUBLE, 0),
    SETTING("force_scale", tick.workspace.force_scale, DOUBLE, 0),
    SETTING("alignment", tick.workspace.alignment, DOUBLE, 4),
    SETTING("absolute", tick.workspace.absolute, BOOL, 0),
    SETTING("start_position", tick.workspace.start.position_m, DOUBLE, 3),
    SETTING("start_quaternion", tick.workspace.start.quaternion, DOUBLE, 4),
    SETTING("clutch_buttons", tick.workspace.clutch_buttons, UINT32, 0),
    SETTING("max_force", tick.safety.max_force_n, DOUBLE, 0),
    SETTING("max_torque", tick.safety.max_torque_nm, DOUBLE, 0),
    SETTING("force_slew", tick.safety.slew_n_per_s, DOUBLE, 0),
    SETTING("torque_slew", tick.safety.slew_nm_per_s, DOUBLE, 0),
    SETTING("ramp", tick.safety.ramp_s, DOUBLE, 0),
    SETTING("silence", tick.safety.silent_s, DOUBLE, 0),
    SETTING("passivity", tick.passivity.control, BOOL, 0),
    SETTING("energy_allowance", tick.passivity.allowance_j, DOUBLE, 0),
    SETTING("most_damping", tick.passivity.max_damping_n_s_per_m, DOUBLE, 0),
    SETTING("most_torsional_damping", tick.passivity.max_damping_nm_s, DOUBLE, 0),
    SETTING("duration", session.duration_s, DOUBLE, 0),
    SETTING("stall", session.stall_s, DOUBLE, 0),
    SETTING("priority", session.priority, INT32, 0),
    SETTING("lock_memory", session.lock_memory, BOOL, 0),
    SETTING("records", session.records, INT64, 0),
    SETTING("patience", session.patience_s, DOUBLE, 0),
    SETTING("hang", session.hang_s, DOUBLE, 0),
    {0},
};

static int coupling_in(py_state *state, PyObject *coupling, PyObject *dynamics,
                       rf_tick_settings *set) {
  if (py_coupling_in(state, coupling, &set->coupling) < 0) return -1;
  set->dynamic = dynamics != Py_None;
  return set->dynamic ? py_dynamics_in(state, coupling, dynamics, &set->dynamics) : 0;
}

// ---- making -----------------------------------------------------------------------------

typedef struct copies {
  rf_tick_contact contact[RF_TICK_MOST_CONTACTS];
  rf_motion *shell[RF_TICK_MOST_CONTACTS], *field;
  int32_t n_free;
  rf_free_body *free[2 * RF_TICK_MOST_CONTACTS];
  PyObject *free_object[2 * RF_TICK_MOST_CONTACTS];  // originals of `free`, borrowed
} copies;

static void release_copies(copies *c) {
  for (int k = 0; k < RF_TICK_MOST_CONTACTS; ++k) rf_motion_free(c->shell[k]);
  for (int32_t k = 0; k < c->n_free; ++k) rf_free_body_free(c->free[k]);
  rf_motion_free(c->field);
}

// Copies a free body, once; 0, or -1 with an exception set.
static int free_in(py_state *state, PyObject *object, copies *c, const rf_free_body **out) {
  for (int32_t k = 0; k < c->n_free; ++k)
    if (c->free_object[k] == object) {
      *out = c->free[k];
      return 0;
    }
  if (py_free_body_copy(state, object, &c->free[c->n_free]) < 0) return -1;
  c->free_object[c->n_free] = object;
  *out = c->free[c->n_free++];
  return 0;
}

// shell: a Motion, a FreeBody or None; field: a FreeBody; True: at rest; None: the held object.
static int bodies_in(py_state *state, PyObject *shell, PyObject *field, int k, copies *c) {
  rf_tick_contact *to = &c->contact[k];
  to->grounded = field == Py_True;
  if (field != Py_True && field != Py_None && free_in(state, field, c, &to->field) < 0) return -1;
  if (Py_TYPE(shell) == state->types[PY_FREE_BODY]) return free_in(state, shell, c, &to->free);
  if (py_motion_copy(state, shell, &c->shell[k]) < 0) return -1;
  to->shell = c->shell[k];
  return 0;
}

static int copies_in(py_state *state, PyObject *contacts, PyObject *shells, PyObject *fields,
                     PyObject *held, copies *c) {
  const Py_ssize_t n = PyTuple_GET_SIZE(contacts);
  if (n > RF_TICK_MOST_CONTACTS || PyTuple_GET_SIZE(shells) != n || PyTuple_GET_SIZE(fields) != n) {
    py_fail(state, PY_INPUT_ERROR,
            "a session takes 1 to %d contacts and as many simulations, got %zd and %zd",
            RF_TICK_MOST_CONTACTS, n, PyTuple_GET_SIZE(shells));
    return -1;
  }
  for (int k = 0; k < n; ++k) {
    c->contact[k].contact = py_contact_get(state, PyTuple_GET_ITEM(contacts, k));
    if (!c->contact[k].contact ||
        bodies_in(state, PyTuple_GET_ITEM(shells, k), PyTuple_GET_ITEM(fields, k), k, c) < 0)
      return -1;
  }
  return py_motion_copy(state, held, &c->field);
}

// A session of a body that the hand touches directly.
static PyObject *touching_session(PyTypeObject *type, PyObject *args) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *device_obj, *touched, *settings;
  all_settings set = {0};
  rf_session *session = NULL;
  rf_tick *tick = NULL;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "OOO:Session", &device_obj, &touched, &settings)) return NULL;
  rf_device *device = py_device_get(state, device_obj);
  rf_touch *touch = device ? py_touch_get(state, touched) : NULL;
  if (!touch || py_settings_in(state, settings, "session", SETTINGS, &set) < 0) return NULL;
  PyObject *kept = PyTuple_Pack(2, device_obj, touched);
  if (!kept) return NULL;
  Py_BEGIN_ALLOW_THREADS
  py_lock(touched);
  st = rf_tick_create_touch(&set.tick, touch, &tick, &err);
  py_unlock(touched);
  if (st >= 0) st = rf_session_create(&set.session, set.tick.dt_s, tick, device, &session, &err);
  Py_END_ALLOW_THREADS
  PyObject *self =
      st < 0 ? py_raise(state, st, &err) : py_object_new_locked(type, session, release, kept);
  Py_DECREF(kept);
  return self;
}

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *device_obj, *contacts, *shells, *fields, *field, *coupling, *dynamics, *settings;
  PyObject *kept = NULL, *self = NULL;
  all_settings set = {0};
  copies c = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (PyTuple_GET_SIZE(args) == 3) return touching_session(type, args);
  if (!PyArg_ParseTuple(args, "OO!O!O!OOOO:Session", &device_obj, &PyTuple_Type, &contacts,
                        &PyTuple_Type, &shells, &PyTuple_Type, &fields, &field, &coupling,
                        &dynamics, &settings))
    return NULL;
  rf_device *device = py_device_get(state, device_obj);
  if (!device || coupling_in(state, coupling, dynamics, &set.tick) < 0 ||
      py_settings_in(state, settings, "session", SETTINGS, &set) < 0)
    return NULL;
  if (copies_in(state, contacts, shells, fields, field, &c) < 0) goto done;
  // keeps the simulations too: the copies borrow their models
  kept = PyTuple_Pack(5, device_obj, contacts, shells, fields, field);
  if (!kept) goto done;
  rf_session *session = NULL;
  rf_tick *tick = NULL;
  rf_error err = {0};
  rf_status st;
  const int32_t n = (int32_t)PyTuple_GET_SIZE(contacts);
  Py_BEGIN_ALLOW_THREADS
  st = rf_tick_create(&set.tick, n, c.contact, c.field, &tick, &err);
  if (st >= 0) st = rf_session_create(&set.session, set.tick.dt_s, tick, device, &session, &err);
  Py_END_ALLOW_THREADS
  self = st < 0 ? py_raise(state, st, &err) : py_object_new_locked(type, session, release, kept);
done:
  release_copies(&c);
  Py_XDECREF(kept);
  return self;
}

// ---- running ----------------------------------------------------------------------------

PyDoc_STRVAR(start_doc,
             "start($self, file, /)\n--\n\n"
             "Open the device and start the threads; file: a descriptor for the records, or -1.");
static PyObject *start(PyObject *self, PyObject *args) {
  int file;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "i:start", &file)) return NULL;
  // opening a device may wait: handle signals and retry unless a handler raised
  do {
    Py_BEGIN_ALLOW_THREADS
    lock(self);
    st = rf_session_start(self_session(self), file, &err);
    unlock(self);
    Py_END_ALLOW_THREADS
  } while (st == RF_ERR_INTERRUPTED && PyErr_CheckSignals() == 0);
  return py_result(py_state_of_object(self), st, &err, Py_NewRef(Py_None));
}

PyDoc_STRVAR(advance_doc,
             "advance($self, n, /)\n--\n\n"
             "Run n cycles in the calling thread.");
static PyObject *advance(PyObject *self, PyObject *args) {
  long long n;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "L:advance", &n)) return NULL;
  // only opening the device can be interrupted, before any cycle: retry as in `start`
  do {
    Py_BEGIN_ALLOW_THREADS
    lock(self);
    st = rf_session_advance(self_session(self), n, &err);
    unlock(self);
    Py_END_ALLOW_THREADS
  } while (st == RF_ERR_INTERRUPTED && PyErr_CheckSignals() == 0);
  return py_result(py_state_of_object(self), st, &err, Py_NewRef(Py_None));
}

PyDoc_STRVAR(stop_doc,
             "stop($self, /)\n--\n\n"
             "Fade out the forces, join the threads, close the device.");
static PyObject *stop(PyObject *self, PyObject *unused) {
  (void)unused;
  Py_BEGIN_ALLOW_THREADS
  lock(self);
  rf_session_stop(self_session(self));
  unlock(self);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyDoc_STRVAR(close_doc,
             "close($self, /)\n--\n\n"
             "Stop for good and release the device.");
static PyObject *close_session(PyObject *self, PyObject *unused) {
  (void)unused;
  Py_BEGIN_ALLOW_THREADS
  lock(self);
  rf_session_close(self_session(self));
  unlock(self);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyDoc_STRVAR(wait_doc,
             "wait($self, seconds, /)\n--\n\n"
             "Wait at most `seconds` for the thread to end; return True if it has ended.");
static PyObject *wait_for_end(PyObject *self, PyObject *args) {
  double seconds;
  bool ended;
  if (!PyArg_ParseTuple(args, "d:wait", &seconds)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  lock(self);
  ended = rf_session_wait(self_session(self), seconds);
  unlock(self);
  Py_END_ALLOW_THREADS
  return PyBool_FromLong(ended);
}

PyDoc_STRVAR(command_doc,
             "command($self, kind, value, dt, coupling, dynamics, /)\n--\n\n"
             "Queue a command for the loop; False: the queue is full. kind: 0 forces in (value 1)\n"
             "or out (0), 1 recentre, 2 coupling.");
static PyObject *command(PyObject *self, PyObject *args) {
  PyObject *coupling, *dynamics;
  int kind;
  rf_command out = {0};
  rf_error err = {0};
  bool taken;
  if (!PyArg_ParseTuple(args, "iddOO:command", &kind, &out.value, &out.settings.dt_s, &coupling,
                        &dynamics))
    return NULL;
  py_state *state = py_state_of_object(self);
  out.kind = (rf_command_kind)kind;
  if (out.kind == RF_COMMAND_COUPLING) {
    if (coupling_in(state, coupling, dynamics, &out.settings) < 0) return NULL;
    const rf_status st = out.settings.dynamic ? rf_dynamic_check(&out.settings.dynamics, &err)
                                              : rf_coupling_check(&out.settings.coupling, &err);
    if (st < 0) return py_raise(state, st, &err);
  }
  Py_BEGIN_ALLOW_THREADS
  lock(self);
  taken = rf_session_command(self_session(self), &out);
  unlock(self);
  Py_END_ALLOW_THREADS
  return PyBool_FromLong(taken);
}

// ---- reading ----------------------------------------------------------------------------

// Snapshots take no lock: any number of threads reads them, while another one waits for the
// session.
PyDoc_STRVAR(
    snapshot_doc,
    "snapshot($self, /)\n--\n\n"
    "(number, bytes) of the newest snapshot, see `snapshot_layout`; numbers begin with 1.\n"
    "None: no cycle has ended yet.");
static PyObject *snapshot(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_session *session = self_session(self);
  size_t bytes = rf_session_loop(session)->layout.bytes;
  uint64_t number;
  PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
  if (!out) return NULL;
  char *to = PyBytes_AS_STRING(out);
  do {
    // a copy that a faster loop spoils RF_BROADCAST_TRIES times is begun again
    if (PyErr_CheckSignals() < 0) {
      Py_DECREF(out);
      return NULL;
    }
    PY_WITHOUT_GIL(number = rf_session_snapshot(session, to, &bytes));
  } while (number == RF_BROADCAST_LOST);
  if (number == 0) {
    Py_DECREF(out);
    Py_RETURN_NONE;
  }
  // on failure `out` is NULL, with the exception set
  (void)_PyBytes_Resize(&out, (Py_ssize_t)bytes);
  return out ? Py_BuildValue("(KN)", (unsigned long long)number, out) : NULL;
}

PyDoc_STRVAR(follow_doc,
             "follow($self, /)\n--\n\n"
             "Ask for contact points in the snapshots of the next 2000 cycles.");
static PyObject *follow(PyObject *self, PyObject *unused) {
  (void)unused;
  rf_session_follow(self_session(self));
  Py_RETURN_NONE;
}

PyDoc_STRVAR(snapshot_layout_doc,
             "snapshot_layout($self, /)\n--\n\n"
             "Fields of a snapshot: a list of (name, format, offset, stride, count).");
static PyObject *snapshot_layout(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_snapshot_layout *layout = &rf_session_loop(self_session(self))->layout;
  PyObject *out = PyList_New(layout->n);
  for (int32_t k = 0; out && k < layout->n; ++k) {
    const rf_snapshot_field *f = layout->field + k;
    PyObject *row = Py_BuildValue("(ssnni)", f->name, f->format, (Py_ssize_t)f->offset,
                                  (Py_ssize_t)f->stride, (int)f->count);
    if (row)
      PyList_SET_ITEM(out, k, row);
    else
      Py_CLEAR(out);
  }
  return out;
}

PyDoc_STRVAR(records_doc,
             "records($self, most, /)\n--\n\n"
             "Remove up to `most` records from the queue, oldest first; return them as bytes, see\n"
             "`record_sizes`.");
static PyObject *records(PyObject *self, PyObject *args) {
  long long most;
  int64_t n;
  if (!PyArg_ParseTuple(args, "L:records", &most)) return NULL;
  if (most < 0 || most > 1 << 20)
    return py_fail(py_state_of_object(self), PY_INPUT_ERROR,
                   "most must be between 0 and %d, got %lld", 1 << 20, most);
  const Py_ssize_t bytes = (Py_ssize_t)rf_session_loop(self_session(self))->recorded.bytes;
  PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)most * bytes);
  if (!out) return NULL;
  char *to = PyBytes_AS_STRING(out);
  Py_BEGIN_ALLOW_THREADS
  lock(self);
  n = rf_session_records(self_session(self), most, to);
  unlock(self);
  Py_END_ALLOW_THREADS
      // on failure `out` is NULL, with the exception set
      (void)
  _PyBytes_Resize(&out, (Py_ssize_t)n * bytes);
  return out;
}

PyDoc_STRVAR(
    record_sizes_doc,
    "record_sizes($self, /)\n--\n\n"
    "Numbers of free bodies, of reduced coordinates, of touched bodies and of sites in a record,\n"
    "see `record_layout`.");
static PyObject *record_sizes(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_record_layout *layout = &rf_session_loop(self_session(self))->recorded;
  return Py_BuildValue("(iiii)", (int)layout->n_free, (int)layout->n_coordinates,
                       (int)layout->n_touched, (int)layout->n_sites);
}

PyDoc_STRVAR(status_doc,
             "status($self, /)\n--\n\n"
             "Status of the session as a dict: phase, failure, counts and statistics;\n"
             "closed: for good; here: in the process that made it, not in a fork.");
static PyObject *status(PyObject *self, PyObject *unused) {
  (void)unused;
  static const char *const phases[] = {"ready", "running", "stopped", "finished", "failed"};
  rf_session_status s;
  Py_BEGIN_ALLOW_THREADS
  lock(self);
  rf_session_read_status(self_session(self), &s);
  unlock(self);
  Py_END_ALLOW_THREADS
  return Py_BuildValue(
      "{s:s,s:N,s:N,s:N,s:N,s:N,s:N,s:s,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:i,s:N,"
      "s:d,s:d,s:d,s:L,s:L,s:d,s:d,s:L,s:d,s:d,s:L,s:L}",
      "phase", phases[s.phase], "closed", PyBool_FromLong(s.closed), "joined",
      PyBool_FromLong(s.joined), "here", PyBool_FromLong(rf_session_here(self_session(self))),
      "failure", py_text(s.failure.text), "priority", PyBool_FromLong(s.priority), "locked",
      PyBool_FromLong(s.locked), "not_allowed", s.not_allowed, "ticks", (long long)s.ticks, "over",
      (long long)s.over, "interrupted", (long long)s.interrupted, "skipped", (long long)s.skipped,
      "unrecorded", (long long)s.unrecorded, "shortened", (long long)s.shortened, "too_deep",
      (long long)s.too_deep, "paused", (long long)s.paused, "made_up", (long long)s.made_up,
      "unsolved", (long long)s.unsolved, "written", (long long)s.written, "file_error",
      s.file_error, "writing", PyBool_FromLong(s.writing), "energy", s.energy_j, "most_energy",
      s.most_energy_j, "depth", atomic_load(&rf_session_loop(self_session(self))->most_depth_m),
      "touching", (long long)s.touching, "saturated", (long long)s.saturated, "chatter",
      s.chatter_n, "force", s.force_n, "unanswered", (long long)s.unanswered, "stiffest",
      s.stiffest_n_per_m, "delay", s.delay_s, "crowded", (long long)s.crowded, "inside",
      (long long)s.inside);
}

PyDoc_STRVAR(
    device_doc,
    "device($self, /)\n--\n\n"
    "(name, max_force, max_torque, max_stiffness, sensed, actuated, rate) when last opened.");
static PyObject *device(PyObject *self, PyObject *unused) {
  (void)unused;
  rf_device_info info;
  Py_BEGIN_ALLOW_THREADS
  lock(self);
  info = *rf_session_device(self_session(self));
  unlock(self);
  Py_END_ALLOW_THREADS
  return py_device_info(&info);
}

PyDoc_STRVAR(
    times_doc,
    "times($self, shares, /)\n--\n\n"
    "Quantiles [us] of cycle times at these shares, shape (4, n): computing, its processor\n"
    "time, lateness, contact.");
static PyObject *times(PyObject *self, PyObject *args) {
  PyObject *shares_obj;
  py_in shares;
  if (!PyArg_ParseTuple(args, "O:times", &shares_obj) ||
      py_in_f64(&shares, shares_obj, "shares", 1, (npy_intp[]){PY_ANY}) < 0)
    return NULL;
  const npy_intp n = shares.shape[0];
  PyObject *out = py_new_f64(2, (npy_intp[]){4, n});
  const rf_loop *loop = rf_session_loop(self_session(self));
  const rf_histogram *all[4] = {&loop->compute, &loop->processor, &loop->late, &loop->contact};
  for (npy_intp k = 0; out && k < 4 * n; ++k)
    py_f64(out)[k] = rf_histogram_percentile_rt(all[k / n], ((double *)shares.data)[k % n]);
  py_in_release(&shares);
  return out;
}

PyDoc_STRVAR(restore_doc,
             "restore($self, k, simulation, /)\n--\n\n"
             "Copy the state of the session's copy, of contact k or of the field (-1), to the\n"
             "simulation.");
static PyObject *restore(PyObject *self, PyObject *args) {
  PyObject *simulation;
  int k;
  if (!PyArg_ParseTuple(args, "iO:restore", &k, &simulation)) return NULL;
  py_state *state = py_state_of_object(self);
  PyObject *result = NULL;
  PY_WITHOUT_GIL(lock(self));
  // locked until copied: another thread may start the session
  const rf_tick *tick = rf_session_loop(self_session(self))->tick;
  const rf_motion *from = rf_tick_simulation(tick, k);
  const rf_free_body *free = rf_tick_free_body(tick, k);
  if (!rf_session_wait(self_session(self), 0.0))
    py_fail(state, PY_INPUT_ERROR, "the session is running: stop it first");
  else if (!from)
    py_fail(state, PY_INPUT_ERROR, "the session has no simulation %d", k);
  else if ((free ? py_free_body_restore(state, simulation, free)
                 : py_motion_restore(state, simulation, from)) == 0)
    result = Py_NewRef(Py_None);
  unlock(self);
  return result;
}

PyDoc_STRVAR(restore_touch_doc,
             "restore_touch($self, touched, /)\n--\n\n"
             "Copy the state of the session's copy of the touched body to that body.");
static PyObject *restore_touch(PyObject *self, PyObject *touched) {
  py_state *state = py_state_of_object(self);
  rf_touch *to = py_touch_get(state, touched);
  rf_error err = {0};
  rf_status st = RF_OK;
  bool ended;
  if (!to) return NULL;
  Py_BEGIN_ALLOW_THREADS
  lock(self);
  const rf_touch *from = rf_tick_touch(rf_session_loop(self_session(self))->tick);
  ended = rf_session_wait(self_session(self), 0.0);
  if (ended && from && from->kind == to->kind && to->kind->restore) {
    py_lock(touched);
    st = to->kind->restore(to->self, from->self, &err);
    py_unlock(touched);
  }
  unlock(self);
  Py_END_ALLOW_THREADS
  if (!ended) return py_fail(state, PY_INPUT_ERROR, "the session is running: stop it first");
  if (st < 0) return py_raise(state, st, &err);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, start_doc},
    {"advance", advance, METH_VARARGS, advance_doc},
    {"stop", stop, METH_NOARGS, stop_doc},
    {"close", close_session, METH_NOARGS, close_doc},
    {"wait", wait_for_end, METH_VARARGS, wait_doc},
    {"command", command, METH_VARARGS, command_doc},
    {"snapshot", snapshot, METH_NOARGS, snapshot_doc},
    {"snapshot_layout", snapshot_layout, METH_NOARGS, snapshot_layout_doc},
    {"follow", follow, METH_NOARGS, follow_doc},
    {"records", records, METH_VARARGS, records_doc},
    {"record_sizes", record_sizes, METH_NOARGS, record_sizes_doc},
    {"status", status, METH_NOARGS, status_doc},
    {"device", device, METH_NOARGS, device_doc},
    {"times", times, METH_VARARGS, times_doc},
    {"restore", restore, METH_VARARGS, restore_doc},
    {"restore_touch", restore_touch, METH_O, restore_touch_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(
    session_doc,
    "Session(device, contacts, simulations, field_simulation, coupling, dynamics, settings, "
    "/)\n--\n\n"
    "A haptic session. Settings are dicts by name; dynamics may be None. Of a touched body:\n"
    "Session(device, touched, settings).");

static PyType_Spec spec = PY_SPEC_KEEPING(
    "Session", py_object, {Py_tp_new, session_new}, {Py_tp_dealloc, session_dealloc},
    {Py_tp_methods, methods}, {Py_tp_doc, (void *)session_doc});

// ---- without a session ------------------------------------------------------------------

PyDoc_STRVAR(session_check_doc,
             "session_check(settings, device, /)\n--\n\n"
             "Check the settings of a session, and that the device belongs to none, or None.");
static PyObject *session_check(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *settings, *device_obj;
  all_settings set = {0};
  const rf_device *device = NULL;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OO:session_check", &settings, &device_obj) ||
      py_settings_in(state, settings, "session", SETTINGS, &set) < 0)
    return NULL;
  if (device_obj != Py_None && !(device = py_device_get(state, device_obj))) return NULL;
  rf_status st = rf_tick_check(&set.tick, &err);
  if (st >= 0) st = rf_session_check(&set.session, set.tick.dt_s, device, &err);
  return py_result(state, st, &err, Py_NewRef(Py_None));
}

static PyMethodDef functions[] = {
    {"session_check", session_check, METH_VARARGS, session_check_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_session_room = {.types = {{PY_SESSION, &spec}}, .functions = functions};
