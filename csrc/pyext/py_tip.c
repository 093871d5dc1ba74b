// The type _core.Tip: contact of the tip of a tool with a surface that has Green's functions.
#include <string.h>

#include "linalg/vec3.h"
#include "pyext/py_green.h"
#include "pyext/py_object.h"
#include "pyext/py_surface.h"
#include "touch/proxy.h"

static rf_touch *self_touch(PyObject *self) { return py_held(self); }
static void release(void *touch) { rf_touch_free(touch); }

static PyObject *tip_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *object[7], *self = NULL;
  int threads;
  rf_tip_settings set = {0};
  py_surface surface = {0};
  py_in positions = {0}, place = {0}, turn = {0};
  py_run run;
  rf_touch *touch = NULL;
  rf_error err = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOOdddOOOi:Tip", &object[0], &object[1], &object[2], &object[3],
                        &set.radius_m, &set.friction, &set.max_depth_m, &object[4], &object[5],
                        &object[6], &threads) ||
      py_run_init(state, &run, object[6], threads) < 0)
    return NULL;
  set.green = py_green_get(state, object[0]);
  if (!set.green) return NULL;
  const npy_intp three = 3, four = 4;
  if (py_in_f64(&positions, object[1], "positions", 2, (npy_intp[]){set.green->count, 3}) < 0 ||
      py_in_surface(state, &surface, object[2], object[3]) < 0 ||
      py_in_f64(&place, object[4], "position", 1, &three) < 0 ||
      py_in_f64(&turn, object[5], "quaternion", 1, &four) < 0)
    goto done;
  set.position = positions.data;
  set.surface = surface.view;
  memcpy(set.pose.position_m, place.data, sizeof set.pose.position_m);
  memcpy(set.pose.quaternion, turn.data, sizeof set.pose.quaternion);
  rf_status st;
  PY_WITHOUT_GIL(st = rf_tip_create(&set, &run.run, &touch, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  // a list: releases append to it
  PyObject *kept = PyList_New(0);
  if (kept && PyList_Append(kept, object[0]) == 0)
    self = py_object_new_locked(type, touch, release, kept);
  else
    rf_touch_free(touch);
  Py_XDECREF(kept);
done:
  py_surface_release(&surface);
  PY_IN_RELEASE(&positions, &place, &turn);
  return self;
}

static PyObject *felt_tuple(const rf_touch_felt *felt, const rf_tip_contact *now) {
  const double *const from[] = {felt->force_n, felt->anchor_m, felt->slip_m, now->weight,
                                now->force};
  PyObject *out[5] = {NULL}, *result = NULL;
  for (int k = 0; k < 5; ++k) {
    if (!(out[k] = py_new_f64(1, (npy_intp[]){3}))) goto done;
    memcpy(py_f64(out[k]), from[k], 3 * sizeof(double));
  }
  result = Py_BuildValue("OOOdiiOOd", out[0], out[1], out[2], felt->depth_m, (int)now->state,
                         (int)now->triangle, out[3], out[4], now->released);
done:
  for (int k = 0; k < 5; ++k) Py_XDECREF(out[k]);
  return result;
}

PyDoc_STRVAR(
    touch_doc,
    "touch($self, position, /)\n--\n\n"
    "Make a cycle at a position of the tip in the world. Tuple of the force on the hand,\n"
    "anchor, slip, depth, state (0 open, 1 stick, 2 slip, 3 inside), triangle, weights, force\n"
    "on the body in its frame, and the number of releases taken up, with the part of the next.");
static PyObject *tip_touch(PyObject *self, PyObject *position) {
  rf_touch *touch = self_touch(self);
  rf_pose hand = {.quaternion = {1.0}};
  rf_touch_felt felt;
  rf_tip_contact now;
  py_in in = {0};
  rf_status st = RF_OK;
  if (py_in_f64(&in, position, "position", 1, (npy_intp[]){3}) < 0) {
    py_in_release(&in);
    return NULL;
  }
  memcpy(hand.position_m, in.data, sizeof hand.position_m);
  py_in_release(&in);
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  do {
    memset(&felt, 0, sizeof felt);
    st = touch->kind->feel_rt(touch->self, &hand, 0.0, &felt);
  } while (st >= 0 && rf_tip_is_searching(touch));
  now = *rf_tip_now(touch);
  if (st >= 0) st = touch->kind->step_rt(touch->self, 0.0);
  py_unlock(self);
  Py_END_ALLOW_THREADS
  const rf_error err = {0};
  return st < 0 ? py_raise(py_state_of_object(self), st, &err) : felt_tuple(&felt, &now);
}

PyDoc_STRVAR(reset_doc, "reset($self, /)\n--\n\nForget the contact.");
static PyObject *tip_reset(PyObject *self, PyObject *unused) {
  rf_touch *touch = self_touch(self);
  (void)unused;
  PY_UNDER_LOCK(self, touch->kind->forget_rt(touch->self));
  Py_RETURN_NONE;
}

// Takes the last occurrence of an object out of a list.
static void drop_last(PyObject *list, PyObject *object) {
  for (Py_ssize_t k = PyList_GET_SIZE(list) - 1; k >= 0; --k) {
    if (PyList_GET_ITEM(list, k) != object) continue;
    if (PySequence_DelItem(list, k) < 0) PyErr_Clear();  // it is kept for longer
    return;
  }
}

PyDoc_STRVAR(release_doc,
             "release($self, green, positions, at, progress, threads, /)\n--\n\n"
             "Take the compliance of `green`, made of the present one by Green.released, once the\n"
             "cycles have run for `at` seconds; copies in sessions do so, too.");
static PyObject *tip_release(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *green_obj, *positions_obj, *callable;
  double at_s;
  int threads;
  py_in positions = {0};
  py_run run;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "OOdOi:release", &green_obj, &positions_obj, &at_s, &callable,
                        &threads) ||
      py_run_init(state, &run, callable, threads) < 0)
    return NULL;
  const rf_green *green = py_green_get(state, green_obj);
  if (!green) return NULL;
  PyObject *kept = ((py_object *)self)->kept;
  if (py_in_f64(&positions, positions_obj, "positions", 2, (npy_intp[]){green->count, 3}) < 0 ||
      PyList_Append(kept, green_obj) < 0) {
    py_in_release(&positions);
    return NULL;
  }
  // locked only at the end: cycles in scripts continue while the tables are made
  struct rf_tip_stage *stage;
  Py_BEGIN_ALLOW_THREADS
  st = rf_tip_prepare_release(self_touch(self), green, positions.data, &run.run, &stage, &err);
  if (st >= 0) {
    py_lock(self);
    rf_tip_release(self_touch(self), stage, at_s);
    py_unlock(self);
  }
  Py_END_ALLOW_THREADS
  py_in_release(&positions);
  if (st < 0) drop_last(kept, green_obj);
  return py_result(state, st, &err, Py_NewRef(Py_None));
}

PyDoc_STRVAR(felt_doc,
             "felt($self, /)\n--\n\n"
             "The tuple of the last cycle, as `touch`; NaN in anchor before the first one.");
static PyObject *tip_felt(PyObject *self, PyObject *unused) {
  rf_touch_felt felt;
  rf_tip_contact now;
  (void)unused;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  rf_tip_felt(self_touch(self), &felt);
  now = *rf_tip_now(self_touch(self));
  py_unlock(self);
  Py_END_ALLOW_THREADS
  return felt_tuple(&felt, &now);
}

PyDoc_STRVAR(places_doc,
             "places($self, /)\n--\n\n"
             "Place of each vertex in the Green's functions, -1: held; (v,).");
static PyObject *tip_places(PyObject *self, PyObject *unused) {
  int32_t n;
  (void)unused;
  const int32_t *place = rf_tip_places(self_touch(self), &n);
  return py_view_i32(self, place, 1, (npy_intp[]){n});
}

// Reads a triangle and its weights: 0, or -1 with an exception set.
static int point_in(PyObject *self, int triangle, PyObject *weights_obj, py_in *weights) {
  const int n = (int)rf_tip_triangles(self_touch(self));
  if (triangle < 0 || triangle >= n) {
    py_fail(py_state_of_object(self), PY_INPUT_ERROR, "triangle must be between 0 and %d, got %d",
            n - 1, triangle);
    return -1;
  }
  return py_in_f64(weights, weights_obj, "weights", 1, (npy_intp[]){3});
}

PyDoc_STRVAR(compliance_doc,
             "compliance($self, triangle, weights, /)\n--\n\n"
             "Compliance (3, 3) of the disc about a point of a triangle.");
static PyObject *tip_compliance(PyObject *self, PyObject *args) {
  PyObject *weights_obj, *out = NULL;
  py_in weights = {0};
  int triangle;
  if (!PyArg_ParseTuple(args, "iO:compliance", &triangle, &weights_obj)) return NULL;
  if (point_in(self, triangle, weights_obj, &weights) == 0 &&
      (out = py_new_f64(2, (npy_intp[]){3, 3}))) {
    double *to = py_f64(out);
    PY_UNDER_LOCK(self, rf_tip_compliance_rt(self_touch(self), triangle, weights.data, to));
  }
  py_in_release(&weights);
  return out;
}

PyDoc_STRVAR(displacement_doc,
             "displacement($self, triangle, weights, force, released=0, /)\n--\n\n"
             "Displacements (rows, 3) of the surface by a force over the disc about a point after\n"
             "some releases, with a part of the next one; rows are rounded up to the tiles of the\n"
             "newest Green's functions.");
static PyObject *tip_displacement(PyObject *self, PyObject *args) {
  PyObject *weights_obj, *force_obj, *out = NULL;
  py_in weights = {0}, force = {0};
  int triangle;
  double released = 0.0;
  // once: another thread may release more, whose Green's functions have more rows
  const int32_t rows = rf_tip_rows(self_touch(self));
  if (!PyArg_ParseTuple(args, "iOO|d:displacement", &triangle, &weights_obj, &force_obj, &released))
    return NULL;
  if (point_in(self, triangle, weights_obj, &weights) == 0 &&
      py_in_f64(&force, force_obj, "force", 1, (npy_intp[]){3}) == 0 &&
      (out = py_new_f64(2, (npy_intp[]){rows, 3}))) {
    double *to = py_f64(out);
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_tip_displacement(self_touch(self), released, triangle, weights.data,
                                            force.data, rows, to, &err));
    out = py_result(py_state_of_object(self), st, &err, out);
  }
  PY_IN_RELEASE(&weights, &force);
  return out;
}

static PyObject *get_max_depth(PyObject *self, void *none) {
  (void)none;
  return PyFloat_FromDouble(rf_tip_max_depth(self_touch(self)));
}

static PyObject *get_discs(PyObject *self, void *none) {
  (void)none;
  return PyFloat_FromDouble(rf_tip_mean_nodes(self_touch(self)));
}

static PyGetSetDef attributes[] = {
    {"max_depth", get_max_depth, NULL, "Largest depth that counts.", NULL},
    {"nodes_per_disc", get_discs, NULL, "Mean number of nodes in a disc about a vertex.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"touch", tip_touch, METH_O, touch_doc},
    {"release", tip_release, METH_VARARGS, release_doc},
    {"reset", tip_reset, METH_NOARGS, reset_doc},
    {"felt", tip_felt, METH_NOARGS, felt_doc},
    {"places", tip_places, METH_NOARGS, places_doc},
    {"compliance", tip_compliance, METH_VARARGS, compliance_doc},
    {"displacement", tip_displacement, METH_VARARGS, displacement_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(tip_doc,
             "Tip(green, positions, vertices, triangles, radius, friction, max_depth, position,\n"
             "quaternion, progress, threads, /)\n--\n\n"
             "Contact of the tip of a tool with a surface that has Green's functions.");

static PyType_Spec spec = PY_SPEC_KEEPING(
    "Tip", py_object, {Py_tp_new, tip_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, methods}, {Py_tp_getset, attributes}, {Py_tp_doc, (void *)tip_doc});

PyDoc_STRVAR(
    law_doc,
    "tip_law(compliance, friction, displacement, /)\n--\n\n"
    "(state, force, slip) of a contact with a compliance (3, 3) and a displacement (3,) in\n"
    "the frame of its normal and two tangents.");
static PyObject *law(PyObject *module, PyObject *args) {
  PyObject *c_obj, *d_obj, *result = NULL;
  py_in c = {0}, d = {0};
  double mu, inverse[9], f[3], slip[3];
  (void)module;
  if (!PyArg_ParseTuple(args, "OdO:tip_law", &c_obj, &mu, &d_obj)) return NULL;
  if (py_in_f64(&c, c_obj, "compliance", 2, (npy_intp[]){3, 3}) == 0 &&
      py_in_f64(&d, d_obj, "displacement", 1, (npy_intp[]){3}) == 0) {
    (void)rf_mat3_inverse_transposed(c.data, inverse);
    const rf_tip_state st = rf_tip_law_rt(c.data, inverse, mu, d.data, f, slip);
    result = Py_BuildValue("i(ddd)(ddd)", (int)st, f[0], f[1], f[2], slip[0], slip[1], slip[2]);
  }
  PY_IN_RELEASE(&c, &d);
  return result;
}

static PyMethodDef functions[] = {
    {"tip_law", law, METH_VARARGS, law_doc},
    {NULL, NULL, 0, NULL},
};

static const py_constant constants[] = {{"TIP_RELEASE", RF_TIP_RELEASE_S, true},
                                        {NULL, 0.0, false}};

const py_room py_tip_room = {
    .types = {{PY_TIP, &spec}}, .functions = functions, .constants = constants};
