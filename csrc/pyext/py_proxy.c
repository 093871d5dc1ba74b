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
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  st = rf_proxy_move(py_held(self), &pose, in[2].data, in[3].data, &err);
  py_unlock(self);
  Py_END_ALLOW_THREADS
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
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  now = *(const rf_proxy *)py_held(self);
  py_unlock(self);
  Py_END_ALLOW_THREADS
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

int py_proxy_in(py_state *state, PyObject *object, const py_source *from, rf_collide_settings *set,
                PyObject **proxy, py_in *nodes) {
  PyObject *nodes_obj;
  double stable_s;
  *set = (rf_collide_settings){0};
  *proxy = NULL;
  if (object == Py_None) return 0;
  if (!PyTuple_Check(object)) {
    PyErr_SetString(PyExc_TypeError, "proxy must be a tuple of three");
    return -1;
  }
  if (!PyArg_ParseTuple(object, "OOd:Motion", proxy, &nodes_obj, &stable_s) ||
      py_require_type(state, *proxy, PY_PROXY, "contact", "RigidProxy") < 0)
    return -1;
  if (from->ndim != 2) {
    py_fail(state, PY_INPUT_TYPE_ERROR, "contact of a RigidProxy is for explicit steps of a Solid");
    return -1;
  }
  if (py_in_i32(nodes, nodes_obj, "nodes", 1, (npy_intp[]){PY_ANY}, 0, (int32_t)from->n - 1) < 0)
    return -1;
  *set = (rf_collide_settings){.proxy = py_held(*proxy),
                               .solid = from->model,
                               .alpha = from->damping.mass,
                               .stable_s = stable_s,
                               .n = (int32_t)nodes->shape[0],
                               .node = nodes->data};
  return 0;
}

PyObject *py_proxy_results(PyObject *motion, const rf_collide *c) {
  if (!c) Py_RETURN_NONE;
  PyObject *out[7] = {NULL}, *result = NULL;
  rf_collide_step now;
  double impulse[3];
  int32_t *node = rf_alloc((size_t)c->n, sizeof *node);
  double *force = rf_alloc(3 * (size_t)c->n, sizeof *force);
  if (!node || !force) {
    PyErr_SetString(PyExc_MemoryError, "out of memory: the results of a contact");
    goto done;
  }
  Py_BEGIN_ALLOW_THREADS
  py_lock(motion);
  now = c->last;
  memcpy(impulse, c->impulse, sizeof impulse);
  memcpy(node, now.touching, (size_t)now.n_touching * sizeof *node);
  memcpy(force, now.force, 3 * (size_t)now.n_touching * sizeof *force);
  py_unlock(motion);
  Py_END_ALLOW_THREADS
  const npy_intp n = now.n_touching, three = 3, four = 4;
  const double *const from[] = {now.total, now.torque, impulse, now.pose.position_m,
                                now.pose.quaternion};
  out[0] = py_new_i32(1, &n);
  out[1] = py_new_f64(2, (npy_intp[]){n, 3});
  for (int k = 2; k < 7; ++k) out[k] = py_new_f64(1, k == 6 ? &four : &three);
  for (int k = 0; k < 7; ++k)
    if (!out[k]) goto done;
  memcpy(py_i32(out[0]), node, (size_t)n * sizeof *node);
  memcpy(py_f64(out[1]), force, 3 * (size_t)n * sizeof *force);
  for (int k = 2; k < 7; ++k)
    memcpy(py_f64(out[k]), from[k - 2], (k == 6 ? 4 : 3) * sizeof(double));
  result = PyTuple_Pack(7, out[0], out[1], out[2], out[3], out[4], out[5], out[6]);
done:
  for (int k = 0; k < 7; ++k) Py_XDECREF(out[k]);
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
