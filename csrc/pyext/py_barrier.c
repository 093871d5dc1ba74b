// The type _core.Barrier: contact of points of a solid with fixed obstacles.
#include "pyext/py_barrier.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "pyext/py_convert.h"
#include "pyext/py_field.h"
#include "pyext/py_object.h"
#include "pyext/py_settings.h"

static void release(void *barrier) { rf_barrier_free(barrier); }

int py_barrier_in(py_state *state, PyObject *object, const rf_barrier **out) {
  *out = NULL;
  if (object == Py_None) return 0;
  if (py_require_type(state, object, PY_BARRIER, "contact", "BarrierContact") < 0) return -1;
  *out = py_held(object);
  return 0;
}

// Returns the surfaces of parts from (nodes, parts, fixed, triangles, self); NULL with an exception
// set.
static rf_barrier_parts *parts_in(py_state *state, PyObject *tuple, const py_in *rest) {
  PyObject *object[4];
  py_in in[4] = {{0}};
  static const char *const name[] = {"nodes of parts", "parts", "fixed", "triangles"};
  rf_barrier_parts *parts = NULL;
  int self = 0;
  const int32_t n_all = (int32_t)rest->shape[0];
  if (!PyTuple_Check(tuple) || !PyArg_ParseTuple(tuple, "OOOOp:Barrier", object, object + 1,
                                                 object + 2, object + 3, &self)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "parts must be a tuple of five");
    return NULL;
  }
  if (py_in_i32(in, object[0], name[0], 1, (npy_intp[]){PY_ANY}, 0, n_all - 1) < 0) goto done;
  for (int k = 1; k < 3; ++k)
    if (py_in_i32(in + k, object[k], name[k], 1, in[0].shape, 0, INT32_MAX) < 0) goto done;
  if (py_in_i32(in + 3, object[3], name[3], 2, (npy_intp[]){PY_ANY, 3}, 0,
                (int32_t)in[0].shape[0] - 1) < 0)
    goto done;
  const rf_barrier_surface surface = {.n_all = n_all,
                                      .rest = rest->data,
                                      .n_vertices = (int32_t)in[0].shape[0],
                                      .n_triangles = (int32_t)in[3].shape[0],
                                      .node = in[0].data,
                                      .part = in[1].data,
                                      .fixed = in[2].data,
                                      .triangles = in[3].data,
                                      .self = self != 0};
  rf_error err = {0};
  const rf_status st = rf_barrier_parts_create(&surface, &parts, &err);
  if (st < 0) py_raise(state, st, &err);
done:
  for (int k = 0; k < 4; ++k) py_in_release(in + k);
  return parts;
}

enum { POINT_ARRAYS = 4 };

// Converts points that touch: nodes (n,), or a tuple of names, nodes, weights and positions.
static int points_in(PyObject *object, py_in *in, rf_barrier_points *out, int32_t n_all) {
  if (!PyTuple_Check(object)) {
    if (py_in_i32(in, object, "nodes", 1, (npy_intp[]){PY_ANY}, 0, n_all - 1) < 0) return -1;
    *out = (rf_barrier_points){.n = (int32_t)in->shape[0], .name = in->data};
    return 0;
  }
  PyObject *of[POINT_ARRAYS];
  if (!PyArg_ParseTuple(object, "OOOO:Barrier", of, of + 1, of + 2, of + 3)) return -1;
  if (py_in_i32(in, of[0], "names of points", 1, (npy_intp[]){PY_ANY}, 0, INT32_MAX) < 0) return -1;
  const npy_intp n = in[0].shape[0];
  if (py_in_i32(in + 1, of[1], "nodes of points", 2, (npy_intp[]){n, PY_ANY}, 0, n_all - 1) < 0 ||
      py_in_f64(in + 2, of[2], "weights", 2, in[1].shape) < 0 ||
      py_in_f64(in + 3, of[3], "points", 2, (npy_intp[]){n, 3}) < 0)
    return -1;
  *out = (rf_barrier_points){.n = (int32_t)n,
                             .name = in[0].data,
                             .weight = in[2].data,
                             .node = in[1].data,
                             .rest = in[3].data,
                             .corners = (int32_t)in[1].shape[1]};
  return 0;
}

static PyObject *barrier_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *fields, *rest_obj, *points_obj, *dict, *basis_obj = Py_None, *parts_obj = Py_None;
  PyObject *result = NULL;
  const rf_field **field = NULL;
  rf_barrier_settings set = {0};
  py_in rest = {0}, point[POINT_ARRAYS] = {{0}}, basis = {0};
  rf_barrier_points points;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "O!OOO|OO:Barrier", &PyTuple_Type, &fields, &rest_obj, &points_obj,
                        &dict, &basis_obj, &parts_obj))
    return NULL;
  if (py_settings_in(state, dict, "contact", rf_barrier_settings_table, &set) < 0) return NULL;
  const Py_ssize_t n = PyTuple_GET_SIZE(fields);
  field = n <= RF_FIELD_MAX_PARTS ? rf_alloc((size_t)n, sizeof *field) : NULL;
  if (!field) {
    PyErr_SetString(PyExc_MemoryError, "out of memory: the obstacles of a contact");
    return NULL;
  }
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!(field[i] = py_field_get(state, PyTuple_GET_ITEM(fields, i)))) goto done;
  if (py_in_f64(&rest, rest_obj, "nodes of the mesh", 2, (npy_intp[]){PY_ANY, 3}) < 0 ||
      points_in(points_obj, point, &points, (int32_t)rest.shape[0]) < 0 ||
      (basis_obj != Py_None && py_in_fields(&basis, basis_obj, "basis", rest.shape[0]) < 0))
    goto done;
  rf_barrier_parts *parts = NULL;
  if (parts_obj != Py_None && !(parts = parts_in(state, parts_obj, &rest))) goto done;
  rf_barrier *barrier = NULL;
  const int32_t r = (int32_t)basis.shape[0];
  rf_error err = {0};
  const rf_status st = rf_barrier_create(&set, (int32_t)n, field, (int32_t)rest.shape[0], rest.data,
                                         &points, r, basis.data, parts, &barrier, &err);
  result = st < 0 ? py_raise(state, st, &err) : py_object_new(type, barrier, release, fields);
done:
  rf_free((void *)field);
  py_in_release(&rest);
  for (int k = 0; k < POINT_ARRAYS; ++k) py_in_release(point + k);
  py_in_release(&basis);
  return result;
}

rf_status py_barrier_copy(const rf_barrier_work *work, py_barrier_pairs *out, rf_error *err) {
  const size_t n = (size_t)rf_barrier_pairs(work->barrier);
  *out = (py_barrier_pairs){.least = INFINITY};
  out->pair = rf_alloc(n, sizeof *out->pair);
  if (!out->pair) return rf_fail(err, RF_ERR_MEMORY, "out of memory: the state of a contact");
  memcpy(out->pair, work->pair, n * sizeof *out->pair);
  if (!work->touch) return RF_OK;
  return rf_barrier_parts_read(work->touch, &out->contact, &out->n_contacts, &out->least, err);
}

void py_barrier_release(py_barrier_pairs *pairs) {
  rf_free(pairs->pair);
  rf_free(pairs->contact);
}

// Returns (nodes, weights, distances, normals, normal forces, friction) of pairs of parts.
static PyObject *contacts_out(const py_barrier_pairs *pairs) {
  const npy_intp n = pairs->n_contacts;
  PyObject *out[6] = {py_new_i32(2, (npy_intp[]){n, 4}),
                      py_new_f64(2, (npy_intp[]){n, 4}),
                      py_new_f64(1, &n),
                      py_new_f64(2, (npy_intp[]){n, 3}),
                      py_new_f64(1, &n),
                      py_new_f64(2, (npy_intp[]){n, 3})};
  PyObject *result = NULL;
  for (int k = 0; k < 6; ++k)
    if (!out[k]) goto done;
  for (npy_intp i = 0; i < n; ++i) {
    const rf_barrier_contact *c = pairs->contact + i;
    memcpy(py_i32(out[0]) + 4 * i, c->node, sizeof c->node);
    memcpy(py_f64(out[1]) + 4 * i, c->weight, sizeof c->weight);
    py_f64(out[2])[i] = c->distance;
    memcpy(py_f64(out[3]) + 3 * i, c->normal, sizeof c->normal);
    py_f64(out[4])[i] = c->force;
    memcpy(py_f64(out[5]) + 3 * i, c->friction, sizeof c->friction);
  }
  result = PyTuple_Pack(6, out[0], out[1], out[2], out[3], out[4], out[5]);
done:
  for (int k = 0; k < 6; ++k) Py_XDECREF(out[k]);
  return result;
}

PyObject *py_barrier_state(const rf_barrier *b, const py_barrier_pairs *copy) {
  const int64_t pairs = rf_barrier_pairs(b);
  const rf_barrier_pair *pair = copy->pair;
  double least = copy->least;
  npy_intp n = 0;
  for (int64_t i = 0; i < pairs; ++i) {
    n += pair[i].distance < b->set.distance_m;
    least = fmin(least, pair[i].distance);
  }
  PyObject *out[6] = {py_new_i32(1, &n), py_new_i32(1, &n),
                      py_new_f64(1, &n), py_new_f64(2, (npy_intp[]){n, 3}),
                      py_new_f64(1, &n), py_new_f64(2, (npy_intp[]){n, 3})};
  bool made = true;
  for (int k = 0; k < 6; ++k) made = made && out[k];
  npy_intp at = 0;
  for (int64_t i = 0; made && i < pairs; ++i) {
    if (!(pair[i].distance < b->set.distance_m)) continue;
    const double length =
        sqrt(pair[i].slope[0] * pair[i].slope[0] + pair[i].slope[1] * pair[i].slope[1] +
             pair[i].slope[2] * pair[i].slope[2]);
    py_i32(out[0])[at] = b->name[i % b->points.n];
    py_i32(out[1])[at] = (int32_t)(i / b->points.n);
    py_f64(out[2])[at] = pair[i].distance;
    py_f64(out[4])[at] = pair[i].normal_force;
    for (int c = 0; c < 3; ++c) {
      py_f64(out[3])[3 * at + c] = pair[i].slope[c] / length;
      py_f64(out[5])[3 * at + c] = pair[i].friction[c];
    }
    ++at;
  }
  PyObject *contacts = made ? contacts_out(copy) : NULL, *result = NULL;
  if (contacts) {
    PyObject *own =
        Py_BuildValue("(OOOOOOd)", out[0], out[1], out[2], out[3], out[4], out[5], least);
    result = own ? PySequence_Concat(own, contacts) : NULL;
    Py_XDECREF(own);
  }
  Py_XDECREF(contacts);
  for (int k = 0; k < 6; ++k) Py_XDECREF(out[k]);
  return result;
}

// Adds the blocks of nodes (n, 3, 3) with themselves.
static void add_blocks(const rf_barrier_work *work, double sign, double *out) {
  const rf_system_coupling *c = work->touch ? &work->touch->coupling : NULL;
  const rf_system_points *points = &work->barrier->points;
  for (int64_t a = 0; a < (int64_t)points->n * points->corners; ++a)
    for (int64_t i = 0, k = 9 * (a / points->corners); i < 9; ++i)
      out[9 * (int64_t)points->node[a] + i] += sign * points->weight[a] * points->weight[a] *
                                               (work->blocks[k + i] + work->turning[k + i]);
  for (int64_t k = 0; c && k < 4 * (int64_t)c->n; ++k)
    for (int i = 0; i < 9; ++i) {
      const int64_t at = 144 * (k / 4) + 39 * (k % 4) + 12 * (i / 3) + i % 3;
      const double turning = k / 4 < work->touch->n_turning ? work->touch->turning[at] : 0.0;
      out[9 * (int64_t)c->node[k] + i] += sign * (c->matrix[at] + turning);
    }
}

PyDoc_STRVAR(
    evaluate_doc,
    "evaluate($self, u, v, /)\n--\n\n"
    "(energy [J], force (n, 3), stiffness (n, 3, 3), damping (n, 3, 3)) at displacements and\n"
    "velocities (n, 3), with friction by the normal forces there; energy without friction.");
static PyObject *evaluate(PyObject *object, PyObject *args) {
  rf_barrier nodal = *(const rf_barrier *)py_held(object);
  const rf_barrier *b = &nodal;
  py_state *state = py_state_of_object(object);
  PyObject *u_obj, *v_obj, *result = NULL;
  PyObject *force = NULL, *stiffness = NULL, *damping = NULL;
  rf_barrier_work *work = NULL;
  py_in u = {0}, v = {0};
  nodal.n_coordinates = 0;  // displacements are given, also of a reduced model
  nodal.basis = NULL;
  if (!PyArg_ParseTuple(args, "OO:evaluate", &u_obj, &v_obj)) return NULL;
  const npy_intp n = b->n_all;
  if (py_in_field(&u, u_obj, "u", n) < 0 || py_in_field(&v, v_obj, "v", n) < 0) goto done;
  rf_error err = {0};
  rf_status st = rf_barrier_require_apart(b, u.data, &err);
  if (st >= 0) st = rf_barrier_work_create(b, 0, &work, &err);
  if (st >= 0 && work->touch) work->touch->err = &err;
  if (st >= 0) st = rf_barrier_begin_rt(work, u.data, v.data);
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  force = py_new_f64(2, (npy_intp[]){n, 3});
  stiffness = py_new_f64(3, (npy_intp[]){n, 3, 3});
  damping = py_new_f64(3, (npy_intp[]){n, 3, 3});
  if (!force || !stiffness || !damping) goto done;
  double *f = py_f64(force), energy;
  work->coupled = true;
  // friction at an infinite rate has no energy
  rf_barrier_evaluate_rt(work, u.data, v.data, INFINITY, f);
  energy = work->energy;
  for (npy_intp i = 0; i < 3 * n; ++i) f[i] = -f[i] + 0.0;
  st = rf_barrier_linearize_rt(work, 0.0);
  if (st >= 0) {
    add_blocks(work, 1.0, py_f64(stiffness));
    add_blocks(work, -1.0, py_f64(damping));
    st = rf_barrier_linearize_rt(work, 1.0);
  }
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  add_blocks(work, 1.0, py_f64(damping));
  result = Py_BuildValue("(dOOO)", energy, force, stiffness, damping);
done:
  rf_barrier_work_free(work);
  PY_XDECREF(force, stiffness, damping);
  PY_IN_RELEASE(&u, &v);
  return result;
}

static PyMethodDef methods[] = {
    {"evaluate", evaluate, METH_VARARGS, evaluate_doc},
    {0},
};

PyDoc_STRVAR(
    barrier_doc,
    "Barrier(fields, rest, points, settings, basis=None, parts=None, /)\n--\n\n"
    "Contact of points of a mesh with nodes `rest` (n, 3), with obstacles (tuple of Field);\n"
    "points: nodes (k,), ascending, or (names (k,), ascending, nodes (k, c) of one element,\n"
    "weights (k, c), positions (k, 3)); settings: a dict; basis: (r, n, 3) of a reduced model;\n"
    "parts: (nodes (m,) of surfaces, their parts (m,), 1 where fixed (m,), triangles (t, 3), "
    "bool:\n"
    "each part touches itself too) that touch each other.");

static PyType_Spec spec = PY_SPEC_KEEPING(
    "Barrier", py_object, {Py_tp_new, barrier_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, methods}, {Py_tp_doc, (void *)barrier_doc});

const py_room py_barrier_room = {.types = {{PY_BARRIER, &spec}}};
