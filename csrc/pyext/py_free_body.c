// The type _core.FreeBody, each guarded by a lock, and steps of many bodies at once.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dynamics/free_body.h"
#include "pyext/py_convert.h"
#include "pyext/py_damping.h"
#include "pyext/py_free_body.h"
#include "pyext/py_motion.h"
#include "pyext/py_object.h"
#include "pyext/py_reduced.h"
#include "pyext/py_settings.h"

static void release(void *body) { rf_free_body_free(body); }

#define RIGID(name, count) RF_SETTING(rf_free_body_settings, #name, name, DOUBLE, count)
static const rf_setting RIGID_MOTION[] = {
    RIGID(mass, 0), RIGID(centre, 3), RIGID(inertia, 9), RIGID(gravity, 3), {0}};

static PyObject *body_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *model_obj, *nodes_obj, *settings, *rigid, *damping_obj = Py_None;
  const char *scheme;
  rf_free_body_settings set = {0};
  py_in nodes = {0};
  rf_free_body *body = NULL;
  PyObject *kept = NULL, *self = NULL;
  rf_error err = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "sOO(dd)OO|O:FreeBody", &scheme, &model_obj, &nodes_obj,
                        &set.damping.mass, &set.damping.stiffness, &settings, &rigid, &damping_obj))
    return NULL;
  if (py_motion_settings_in(state, scheme, settings, "deformation", &set.deformation) < 0 ||
      py_settings_in(state, rigid, "rigid motion", RIGID_MOTION, &set) < 0)
    goto done;
  const rf_reduced *model = py_reduced_get(state, model_obj);
  if (!model || py_damping_in(state, damping_obj, &set.damping.strain_rate) < 0) goto done;
  if (py_in_f64(&nodes, nodes_obj, "nodes", 2, (npy_intp[]){model->n_nodes, 3}) < 0) goto done;
  // the body borrows them
  kept = PyTuple_Pack(3, model_obj, damping_obj, (PyObject *)nodes.array);
  if (!kept) goto done;
  rf_status st;
  PY_WITHOUT_GIL(st = rf_free_body_create(model, nodes.data, &set, &body, &err));
  self = st < 0 ? py_raise(state, st, &err) : py_object_new_locked(type, body, release, kept);
done:
  Py_XDECREF(kept);
  rf_free(set.deformation.own);
  py_in_release(&nodes);
  return self;
}

// Lists the nonzero nodal forces as loads; NULL force: none.
static rf_status loads_of(const double *force, int32_t n_nodes, rf_load **out, int32_t *count,
                          rf_error *err) {
  rf_status st = RF_OK;
  *out = NULL;
  *count = 0;
  if (!force) return RF_OK;
  for (int32_t a = 0; a < n_nodes; ++a) {
    const double *f = force + 3 * (size_t)a;
    *count += f[0] != 0.0 || f[1] != 0.0 || f[2] != 0.0;
  }
  RF_ALLOC(*out, *count);
  rf_load *to = *out;
  for (int32_t a = 0; a < n_nodes; ++a) {
    const double *f = force + 3 * (size_t)a;
    if (f[0] != 0.0 || f[1] != 0.0 || f[2] != 0.0) *to++ = (rf_load){a, {f[0], f[1], f[2]}};
  }
done:
  return st;
}

// One or more bodies with their forces, as parallel arrays.
typedef struct group {
  npy_intp count;
  PyObject *list;       // strong: a tuple of bodies
  PyObject **sorted;    // borrowed from it, sorted by address, the locking order  (count)
  rf_free_body **body;  // (count)
  py_in *force;         // (count)
  rf_load **loads;      // (count)
  int32_t *n_loads;     // (count)
} group;

static void free_group(group *c) {
  for (npy_intp i = 0; i < c->count; ++i) {
    if (c->force) py_in_release(&c->force[i]);
    if (c->loads) rf_free(c->loads[i]);
  }
  rf_free(c->sorted);
  rf_free(c->body);
  rf_free(c->force);
  rf_free(c->loads);
  rf_free(c->n_loads);
  Py_XDECREF(c->list);
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (PyObject *const *)a;
  const uintptr_t y = (uintptr_t) * (PyObject *const *)b;
  return x < y ? -1 : x > y;
}

// Converts bodies and forces (None, or one entry per body); 0, or -1 with an exception set.
static int take_group(py_state *state, group *c, PyObject *bodies, PyObject *forces) {
  c->list = PySequence_Tuple(bodies);
  if (!c->list) return -1;
  c->count = PyTuple_GET_SIZE(c->list);
  const size_t count = (size_t)c->count;
  c->sorted = rf_alloc(count, sizeof *c->sorted);
  c->body = rf_alloc(count, sizeof *c->body);
  c->force = rf_alloc(count, sizeof *c->force);
  c->loads = rf_alloc(count, sizeof *c->loads);
  c->n_loads = rf_alloc(count, sizeof *c->n_loads);
  if (!c->sorted || !c->body || !c->force || !c->loads || !c->n_loads) {
    PyErr_SetString(PyExc_MemoryError, "out of memory: the loads of free bodies");
    return -1;
  }
  for (npy_intp i = 0; i < c->count; ++i) {
    PyObject *object = PyTuple_GET_ITEM(c->list, i);
    if (py_require_type(state, object, PY_FREE_BODY, "bodies", "FreeBody") < 0) return -1;
    c->sorted[i] = object;
    c->body[i] = py_held(object);
  }
  qsort(c->sorted, count, sizeof *c->sorted, by_address);
  for (npy_intp i = 1; i < c->count; ++i) {
    if (c->sorted[i] != c->sorted[i - 1]) continue;
    py_fail(state, PY_INPUT_ERROR, "bodies contains one body twice");
    return -1;
  }
  if (forces == Py_None) return 0;
  if (PyTuple_GET_SIZE(forces) != c->count) {
    py_fail(state, PY_INPUT_ERROR, "forces has %zd entries for %zd bodies",
            PyTuple_GET_SIZE(forces), c->count);
    return -1;
  }
  for (npy_intp i = 0; i < c->count; ++i) {
    char name[32];
    PyObject *force = PyTuple_GET_ITEM(forces, i);
    if (force == Py_None) continue;
    snprintf(name, sizeof name, c->count == 1 ? "force" : "forces[%lld]", (long long)i);
    const int32_t n = c->body[i]->model->n_nodes;
    if (py_in_field(&c->force[i], force, name, n) < 0) return -1;
  }
  return 0;
}

// farthest: as of rf_motion_farthest (count).
static rf_status step_group(group *c, const rf_run *run, int64_t n, double *farthest,
                            rf_error *err) {
  rf_status st = RF_OK;
  const rf_run quiet = {.threads = run->threads};
  for (npy_intp i = 0; i < c->count && st >= 0; ++i)
    st = loads_of(c->force[i].data, c->body[i]->model->n_nodes, &c->loads[i], &c->n_loads[i], err);
  double work = 0.0;
  for (npy_intp i = 0; i < c->count; ++i) work += py_step_work(c->body[i]->deformation);
  const int64_t chunk = c->count > 0 ? py_step_chunk(work) : n;
  for (int64_t done = 0; done < n && st >= 0;) {
    const int64_t count = n - done < chunk ? n - done : chunk;
    for (npy_intp i = 0; i < c->count; ++i) py_lock(c->sorted[i]);
    st = rf_free_bodies_step(&quiet, (int32_t)c->count, c->body, c->n_loads,
                             (const rf_load *const *)c->loads, count, err);
    for (npy_intp i = 0; i < c->count; ++i)
      farthest[i] = rf_motion_farthest(c->body[i]->deformation);
    for (npy_intp i = 0; i < c->count; ++i) py_unlock(c->sorted[i]);
    done += count;
    if (st >= 0) st = rf_run_progress(run, done, n, err);
  }
  return st;
}

PyDoc_STRVAR(step_bodies_doc,
             "step_free_bodies($module, bodies, forces, n, progress, threads, /)\n--\n\n"
             "Make n steps of every body under constant forces: None, or a tuple with None or an\n"
             "array (n_nodes, 3) for each. Returns a list of upper bounds of the displacements by\n"
             "the last step over the diagonal of each body.");
static PyObject *step_bodies(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *bodies, *forces, *progress, *result = NULL;
  long long n;
  int threads;
  group c = {0};
  py_run run;
  rf_error err = {0};
  double *farthest = NULL;
  if (!PyArg_ParseTuple(args, "OOLOi:step_free_bodies", &bodies, &forces, &n, &progress, &threads))
    return NULL;
  if (n < 0) return py_fail(state, PY_INPUT_ERROR, "n must be at least 0, got %lld", n);
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  if (forces != Py_None && !PyTuple_Check(forces))
    return py_fail(state, PY_INPUT_TYPE_ERROR, "forces must be a tuple or None");
  if (take_group(state, &c, bodies, forces) < 0) goto done;
  rf_status st;
  if (!(farthest = PyMem_Calloc((size_t)c.count + 1, sizeof *farthest))) {
    PyErr_NoMemory();
    goto done;
  }
  PY_WITHOUT_GIL(st = step_group(&c, &run.run, n, farthest, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  result = PyList_New(c.count);
  for (npy_intp i = 0; result && i < c.count; ++i) {
    PyObject *one = PyFloat_FromDouble(farthest[i]);
    if (!one) Py_CLEAR(result);
    if (result) PyList_SET_ITEM(result, i, one);
  }
done:
  PyMem_Free(farthest);
  free_group(&c);
  return result;
}

rf_free_body *py_free_body_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_FREE_BODY, "body", "FreeBody");
}

int py_free_body_copy(py_state *state, PyObject *object, rf_free_body **out) {
  *out = NULL;
  const rf_free_body *from = py_free_body_get(state, object);
  if (!from) return -1;
  rf_error err = {0};
  rf_status st;
  PY_UNDER_LOCK(object, st = rf_free_body_copy(from, NULL, out, &err));
  return py_done(state, st, &err);
}

int py_free_body_restore(py_state *state, PyObject *object, const rf_free_body *from) {
  rf_free_body *to = py_free_body_get(state, object);
  const rf_motion *m = from->deformation;
  if (!to) return -1;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  py_lock(object);
  st = rf_free_body_restore(to, &from->rigid, m->q, m->qdot, m->qddot, m->report.steps, &err);
  if (st >= 0) to->deformation->report.strain = m->report.strain;
  py_unlock(object);
  Py_END_ALLOW_THREADS
  return py_done(state, st, &err);
}

PyObject *py_free_body_state(PyObject *owner, const rf_free_body *b) {
  const npy_intp r = b->model->r, length[7] = {3, 4, 3, 3, r, r, r};
  PyObject *out[7] = {NULL}, *result = NULL;
  for (int i = 0; i < 7; ++i) {
    out[i] = py_new_f64(1, &length[i]);
    if (!out[i]) goto done;
  }
  double *position = py_f64(out[0]), *quaternion = py_f64(out[1]), *velocity = py_f64(out[2]);
  double *omega = py_f64(out[3]), *q = py_f64(out[4]), *qdot = py_f64(out[5]);
  double *qddot = py_f64(out[6]), time_s;
  const size_t bytes = (size_t)r * sizeof(double);
  Py_BEGIN_ALLOW_THREADS
  py_lock(owner);
  memcpy(position, b->rigid.position, sizeof b->rigid.position);
  memcpy(quaternion, b->rigid.quaternion, sizeof b->rigid.quaternion);
  for (int i = 0; i < 3; ++i) velocity[i] = b->rigid.momentum[i] / b->set.mass;
  rf_free_body_angular_velocity_rt(b, omega);
  memcpy(q, b->deformation->q, bytes);
  memcpy(qdot, b->deformation->qdot, bytes);
  memcpy(qddot, b->deformation->qddot, bytes);
  time_s = b->deformation->time_s;
  py_unlock(owner);
  Py_END_ALLOW_THREADS
  result =
      Py_BuildValue("(OOOOOOOd)", out[0], out[1], out[2], out[3], out[4], out[5], out[6], time_s);
done:
  for (int i = 0; i < 7; ++i) Py_XDECREF(out[i]);
  return result;
}

PyDoc_STRVAR(state_doc,
             "state($self, /)\n--\n\n"
             "(position, quaternion, velocity, angular_velocity, q, qdot, qddot, time): copies.");
static PyObject *read_state(PyObject *self, PyObject *unused) {
  (void)unused;
  return py_free_body_state(self, py_held(self));
}

PyDoc_STRVAR(reset_doc,
             "reset($self, position, quaternion, velocity, angular_velocity, q, qdot, /)\n--\n\n"
             "Set the state at time 0; q and qdot may be None: zero.");
static PyObject *reset(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  rf_free_body *body = py_held(self);
  static const char *const names[6] = {"position",         "quaternion", "velocity",
                                       "angular_velocity", "q",          "qdot"};
  const npy_intp r = body->model->r, length[6] = {3, 4, 3, 3, r, r};
  PyObject *objects[6], *result = NULL;
  py_in in[6] = {{0}};
  if (!PyArg_ParseTuple(args, "OOOOOO:reset", &objects[0], &objects[1], &objects[2], &objects[3],
                        &objects[4], &objects[5]))
    return NULL;
  for (int i = 0; i < 6; ++i) {
    if (i >= 4 && objects[i] == Py_None) continue;
    if (py_in_f64(&in[i], objects[i], names[i], 1, &length[i]) < 0) goto done;
  }
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  // the deformation last: a rejected pose leaves the state unchanged
  const rf_rigid_state before = body->rigid;
  st = rf_free_body_set_pose(body, in[0].data, in[1].data, in[2].data, in[3].data, &err);
  if (st >= 0) {
    st = rf_motion_reset(body->deformation, NULL, in[4].data, in[5].data, NULL, &err);
    if (st < 0) body->rigid = before;
  }
  py_unlock(self);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : Py_NewRef(Py_None);
done:
  for (int i = 0; i < 6; ++i) py_in_release(&in[i]);
  return result;
}

PyDoc_STRVAR(snapshot_doc,
             "snapshot($self, /)\n--\n\n"
             "(rigid, q, qdot, qddot, steps): copies of all that `restore` takes; rigid (13,) is "
             "position, quaternion, momentum and angular momentum.");
static PyObject *snapshot(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_free_body *b = py_held(self);
  const npy_intp r = b->model->r, length[4] = {13, r, r, r};
  PyObject *out[4] = {NULL}, *result = NULL;
  double *to[4];
  for (int i = 0; i < 4; ++i) {
    out[i] = py_new_f64(1, &length[i]);
    if (!out[i]) goto done;
    to[i] = py_f64(out[i]);
  }
  long long steps;
  const size_t bytes = (size_t)r * sizeof(double);
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  memcpy(to[0], &b->rigid, sizeof b->rigid);
  memcpy(to[1], b->deformation->q, bytes);
  memcpy(to[2], b->deformation->qdot, bytes);
  memcpy(to[3], b->deformation->qddot, bytes);
  steps = b->deformation->report.steps;
  py_unlock(self);
  Py_END_ALLOW_THREADS
  result = Py_BuildValue("(OOOOL)", out[0], out[1], out[2], out[3], steps);
done:
  for (int i = 0; i < 4; ++i) Py_XDECREF(out[i]);
  return result;
}

PyDoc_STRVAR(restore_doc,
             "restore($self, rigid, q, qdot, qddot, steps, /)\n--\n\n"
             "Set the state that `snapshot` returned, of this body or of another of its model.");
static PyObject *restore(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  rf_free_body *body = py_held(self);
  static const char *const names[4] = {"rigid", "q", "qdot", "qddot"};
  const npy_intp r = body->model->r, length[4] = {13, r, r, r};
  PyObject *objects[4], *result = NULL;
  py_in in[4] = {{0}};
  long long steps;
  if (!PyArg_ParseTuple(args, "OOOOL:restore", &objects[0], &objects[1], &objects[2], &objects[3],
                        &steps))
    return NULL;
  for (int i = 0; i < 4; ++i)
    if (py_in_f64(&in[i], objects[i], names[i], 1, &length[i]) < 0) goto done;
  rf_rigid_state rigid;
  memcpy(&rigid, in[0].data, sizeof rigid);
  rf_error err = {0};
  rf_status st;
  PY_UNDER_LOCK(self, st = rf_free_body_restore(body, &rigid, in[1].data, in[2].data, in[3].data,
                                                steps, &err));
  result = st < 0 ? py_raise(state, st, &err) : Py_NewRef(Py_None);
done:
  for (int i = 0; i < 4; ++i) py_in_release(&in[i]);
  return result;
}

PyDoc_STRVAR(strain_doc,
             "strain($self, /)\n--\n\n"
             "Largest Green strain of a cubature seen since the last reset: some points a step.");
static PyObject *read_strain(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_free_body *body = py_held(self);
  double strain;
  PY_UNDER_LOCK(self, strain = body->deformation->report.strain);
  return PyFloat_FromDouble(strain);
}

PyDoc_STRVAR(positions_doc,
             "positions($self, /)\n--\n\n"
             "Positions of the nodes in the world (n, 3).");
static PyObject *positions(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_free_body *body = py_held(self);
  PyObject *out = py_new_f64(2, (npy_intp[]){body->model->n_nodes, 3});
  if (!out) return NULL;
  double *x = py_f64(out);
  PY_UNDER_LOCK(self, rf_free_body_nodes(body, x));
  return out;
}

static PyMethodDef methods[] = {
    {"state", read_state, METH_NOARGS, state_doc},
    {"reset", reset, METH_VARARGS, reset_doc},
    {"snapshot", snapshot, METH_NOARGS, snapshot_doc},
    {"restore", restore, METH_VARARGS, restore_doc},
    {"strain", read_strain, METH_NOARGS, strain_doc},
    {"positions", positions, METH_NOARGS, positions_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef functions[] = {
    {"step_free_bodies", step_bodies, METH_VARARGS, step_bodies_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(body_doc,
             "FreeBody(scheme, model, nodes, damping, settings, rigid, strain_rate=None, /)\n--\n\n"
             "A Reduced carried by a rigid body. damping: (alpha, beta); settings: a dict as of a\n"
             "Motion; rigid: a dict of mass, centre, inertia (9 numbers) and gravity;\n"
             "strain_rate: a Damping.");

static PyType_Spec spec = PY_SPEC_KEEPING("FreeBody", py_object, {Py_tp_new, body_new},
                                          {Py_tp_dealloc, py_object_dealloc},
                                          {Py_tp_methods, methods}, {Py_tp_doc, (void *)body_doc});

const py_room py_free_body_room = {.types = {{PY_FREE_BODY, &spec}}, .functions = functions};
