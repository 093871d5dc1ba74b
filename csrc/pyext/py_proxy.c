// The type _core.Proxy: a rigid body, moved by the caller, that solids touch in explicit steps.
#include "pyext/py_proxy.h"

#include <string.h>

#include "base/alloc.h"
#include "mesh/mesh.h"
#include "pyext/py_field.h"
#include "pyext/py_object.h"
#include "pyext/py_solid.h"

static void release(void *proxy) { rf_proxy_free(proxy); }

static PyObject *proxy_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *field_obj;
  const char *rule;
  double friction;
  rf_proxy *proxy;
  rf_error err = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "Osd:Proxy", &field_obj, &rule, &friction)) return NULL;
  const rf_field *field = py_field_get(state, field_obj);
  if (!field) return NULL;
  const rf_status st = rf_proxy_create(field, rule, friction, &proxy, &err);
  if (st < 0) return py_raise(state, st, &err);
  return py_object_new_locked(type, proxy, release, field_obj);
}

PyDoc_STRVAR(move_doc,
             "move($self, position, quaternion, velocity, angular_velocity, /)\n--\n\n"
             "Set the pose and the velocities with which the body continues from it.");
static PyObject *move(PyObject *self, PyObject *args) {
  static const char *const names[] = {"position", "quaternion", "velocity", "angular_velocity"};
  py_state *state = py_state_of_object(self);
  PyObject *object[4], *result = NULL;
  py_in in[4] = {{0}};
  rf_pose pose;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "OOOO:move", object, object + 1, object + 2, object + 3)) return NULL;
  for (int i = 0; i < 4; ++i)
    if (py_in_f64(in + i, object[i], names[i], 1, (npy_intp[]){i == 1 ? 4 : 3}) < 0) goto done;
  memcpy(pose.position_m, in[0].data, sizeof pose.position_m);
  memcpy(pose.quaternion, in[1].data, sizeof pose.quaternion);
  PY_UNDER_LOCK(self, st = rf_proxy_move(py_held(self), &pose, in[2].data, in[3].data, &err));
  result = st < 0 ? py_raise(state, st, &err) : Py_NewRef(Py_None);
done:
  for (int i = 0; i < 4; ++i) py_in_release(in + i);
  return result;
}

PyDoc_STRVAR(motion_doc,
             "motion($self, /)\n--\n\n"
             "(position, quaternion, velocity, angular_velocity) of the last move: copies.");
static PyObject *read_motion(PyObject *self, PyObject *unused) {
  (void)unused;
  rf_proxy now;
  PY_UNDER_LOCK(self, now = *(const rf_proxy *)py_held(self));
  const double *const from[] = {now.pose.position_m, now.pose.quaternion, now.velocity_m_s,
                                now.spin_rad_s};
  PyObject *out[4] = {NULL}, *result = NULL;
  for (int k = 0; k < 4; ++k) {
    const npy_intp n = k == 1 ? 4 : 3;
    if (!(out[k] = py_new_f64(1, &n))) goto done;
    memcpy(py_f64(out[k]), from[k], (size_t)n * sizeof(double));
  }
  result = PyTuple_Pack(4, out[0], out[1], out[2], out[3]);
done:
  for (int k = 0; k < 4; ++k) Py_XDECREF(out[k]);
  return result;
}

// Returns a tuple of proxies by ascending addresses; NULL with an exception.
static PyObject *sort(PyObject *proxies) {
  const Py_ssize_t n = PyTuple_GET_SIZE(proxies);
  PyObject *sorted = PyTuple_New(n);
  for (Py_ssize_t i = 0; sorted && i < n; ++i) {
    PyObject *one = Py_NewRef(PyTuple_GET_ITEM(proxies, i));
    Py_ssize_t at = i;
    for (; at > 0 && (uintptr_t)PyTuple_GET_ITEM(sorted, at - 1) > (uintptr_t)one; --at)
      PyTuple_SET_ITEM(sorted, at, PyTuple_GET_ITEM(sorted, at - 1));
    PyTuple_SET_ITEM(sorted, at, one);
  }
  return sorted;
}

int py_proxies_in(py_state *state, PyObject *object, const py_source *from, py_proxies *out) {
  PyObject *proxies, *nodes_obj;
  double stable_s;
  if (object == Py_None) return 0;
  if (!PyTuple_Check(object)) {
    PyErr_SetString(PyExc_TypeError, "proxy must be a tuple of three");
    return -1;
  }
  if (!PyArg_ParseTuple(object, "O!Od:Motion", &PyTuple_Type, &proxies, &nodes_obj, &stable_s))
    return -1;
  const Py_ssize_t n = PyTuple_GET_SIZE(proxies);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (py_require_type(state, PyTuple_GET_ITEM(proxies, i), PY_PROXY, "contact", "RigidProxy") < 0)
      return -1;
  if (n < 1 || n > INT32_MAX) {
    py_fail(state, PY_INPUT_ERROR, "contact must have at least one RigidProxy");
    return -1;
  }
  if (from->ndim != 2) {
    py_fail(state, PY_INPUT_TYPE_ERROR, "contact of a RigidProxy is for explicit steps of a Solid");
    return -1;
  }
  if (!(out->sorted = sort(proxies))) return -1;
  for (Py_ssize_t i = 1; i < n; ++i)
    if (PyTuple_GET_ITEM(out->sorted, i) == PyTuple_GET_ITEM(out->sorted, i - 1)) {
      py_fail(state, PY_INPUT_ERROR, "contact has the same RigidProxy twice");
      return -1;
    }
  if (!(out->held = rf_alloc((size_t)n, sizeof(void *)))) {
    PyErr_SetString(PyExc_MemoryError, "out of memory: bodies in contact");
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; ++i) out->held[i] = py_held(PyTuple_GET_ITEM(proxies, i));
  if (py_in_i32(&out->nodes, nodes_obj, "nodes", 1, (npy_intp[]){PY_ANY}, 0, (int32_t)from->n - 1) <
      0)
    return -1;
  out->set = (rf_collide_settings){.n_proxies = (int32_t)n,
                                   .proxy = out->held,
                                   .solid = from->model,
                                   .alpha = from->damping.mass,
                                   .stable_s = stable_s,
                                   .n = (int32_t)out->nodes.shape[0],
                                   .node = out->nodes.data};
  return 0;
}

void py_proxies_release(py_proxies *p) {
  Py_XDECREF(p->sorted);
  rf_free(p->held);
  py_in_release(&p->nodes);
}

void py_proxies_lock(PyObject *sorted) {
  for (Py_ssize_t i = 0; sorted && i < PyTuple_GET_SIZE(sorted); ++i)
    py_lock(PyTuple_GET_ITEM(sorted, i));
}

void py_proxies_unlock(PyObject *sorted) {
  for (Py_ssize_t i = 0; sorted && i < PyTuple_GET_SIZE(sorted); ++i)
    py_unlock(PyTuple_GET_ITEM(sorted, i));
}

// The results of contact with one body; NULL with an exception.
static PyObject *results(const rf_collide_body *b) {
  const rf_collide_step *now = &b->last;
  PyObject *out[8] = {NULL}, *result = NULL;
  const npy_intp n = now->n_touching, three = 3, four = 4;
  const double *const from[] = {now->total,           now->torque,          b->impulse,
                                now->pose.position_m, now->pose.quaternion, now->pushed};
  out[0] = py_new_i32(1, &n);
  out[1] = py_new_f64(2, (npy_intp[]){n, 3});
  for (int k = 2; k < 8; ++k) out[k] = py_new_f64(1, k == 6 ? &four : &three);
  for (int k = 0; k < 8; ++k)
    if (!out[k]) goto done;
  memcpy(py_i32(out[0]), now->touching, (size_t)n * sizeof *now->touching);
  memcpy(py_f64(out[1]), now->force, 3 * (size_t)n * sizeof *now->force);
  for (int k = 2; k < 8; ++k)
    memcpy(py_f64(out[k]), from[k - 2], (k == 6 ? 4 : 3) * sizeof(double));
  result = Py_BuildValue("(OOOOOOOOi)", out[0], out[1], out[2], out[3], out[4], out[5], out[6],
                         out[7], (int)now->n_sliding);
done:
  for (int k = 0; k < 8; ++k) Py_XDECREF(out[k]);
  return result;
}

PyObject *py_proxy_results(PyObject *motion, const rf_collide *c) {
  if (!c) Py_RETURN_NONE;
  PyObject *result = NULL;
  rf_collide_body *copy = rf_alloc((size_t)c->n_bodies, sizeof *copy);
  int32_t *node = rf_alloc((size_t)c->n_bodies * (size_t)c->n, sizeof *node);
  double *force = rf_alloc(3 * (size_t)c->n_bodies * (size_t)c->n, sizeof *force);
  if (!copy || !node || !force) {
    PyErr_SetString(PyExc_MemoryError, "out of memory: the results of a contact");
    goto done;
  }
  Py_BEGIN_ALLOW_THREADS
  py_lock(motion);
  for (int32_t k = 0; k < c->n_bodies; ++k) {
    const rf_collide_step *now = &c->body[k].last;
    rf_collide_step *to = &copy[k].last;
    const size_t at = (size_t)k * (size_t)c->n;
    copy[k] = c->body[k];
    to->touching = node + at;
    to->force = force + 3 * at;
    memcpy(to->touching, now->touching, (size_t)now->n_touching * sizeof *node);
    memcpy(to->force, now->force, 3 * (size_t)now->n_touching * sizeof *force);
  }
  py_unlock(motion);
  Py_END_ALLOW_THREADS
  result = PyTuple_New(c->n_bodies);
  for (int32_t k = 0; result && k < c->n_bodies; ++k) {
    PyObject *one = results(copy + k);
    if (one)
      PyTuple_SET_ITEM(result, k, one);
    else
      Py_CLEAR(result);
  }
done:
  rf_free(copy);
  rf_free(node);
  rf_free(force);
  return result;
}

static PyMethodDef methods[] = {
    {"move", move, METH_VARARGS, move_doc},
    {"motion", read_motion, METH_NOARGS, motion_doc},
    {0},
};

PyDoc_STRVAR(proxy_doc,
             "Proxy(field, rule, friction, /)\n--\n\n"
             "A rigid body with the shape of a Field, at rest in the origin.");

static PyType_Spec spec =
    PY_SPEC_KEEPING("Proxy", py_object, {Py_tp_new, proxy_new}, {Py_tp_dealloc, py_object_dealloc},
                    {Py_tp_methods, methods}, {Py_tp_doc, (void *)proxy_doc});

const py_room py_proxy_room = {.types = {{PY_PROXY, &spec}}};
