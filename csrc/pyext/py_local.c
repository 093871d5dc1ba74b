// Local compliance of the points of a shell: statics that a reduced model leaves out.
#include "base/alloc.h"
#include "green/green.h"
#include "green/second.h"
#include "pyext/py_contact.h"
#include "pyext/py_convert.h"
#include "pyext/py_green.h"
#include "pyext/py_object.h"
#include "pyext/py_solid.h"

static const rf_contact_local *self_local(PyObject *self) { return py_held(self); }

const rf_contact_local *py_local_get(py_state *state, PyObject *object) {
  return py_require_type(state, object, PY_LOCAL, "local", "LocalCompliance") < 0
             ? NULL
             : self_local(object);
}

static void release(void *local) { rf_contact_local_free(local); }

static void block_of(const void *of, int32_t i, int32_t j, double block[9]) {
  rf_green_block_rt(of, i, j, block);
}

static PyObject *local_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *green_obj, *places_obj, *weights_obj, *basis_obj, *stiffness_obj, *progress;
  PyObject *self = NULL;
  py_in places = {0}, weights = {0}, basis = {0}, stiffness = {0};
  rf_contact_local *local = NULL;
  rf_error err = {0};
  rf_status st;
  py_run run;
  int by_points, threads;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOOOpOi:LocalCompliance", &green_obj, &places_obj, &weights_obj,
                        &basis_obj, &stiffness_obj, &by_points, &progress, &threads))
    return NULL;
  const rf_green *g = py_green_get(state, green_obj);
  if (!g || py_run_init(state, &run, progress, threads) < 0) return NULL;
  if (py_in_i32(&places, places_obj, "places", 2, (npy_intp[]){PY_ANY, PY_ANY}, 0, g->count - 1) <
          0 ||
      py_in_f64(&weights, weights_obj, "weights", 2, places.shape) < 0 ||
      py_in_f64(&basis, basis_obj, "basis", 3, (npy_intp[]){g->count, 3, PY_ANY}) < 0 ||
      py_in_f64(&stiffness, stiffness_obj, "stiffness", 2,
                (npy_intp[]){basis.shape[2], basis.shape[2]}) < 0)
    goto done;
  const rf_contact_local_settings set = {.n_nodes = g->count,
                                         .block = block_of,
                                         .of = g,
                                         .n_points = (int32_t)places.shape[0],
                                         .corners = (int32_t)places.shape[1],
                                         .node = places.data,
                                         .weight = weights.data,
                                         .by_points = by_points,
                                         .r = (int32_t)basis.shape[2],
                                         .basis = basis.data,
                                         .stiffness = stiffness.data};
  PY_WITHOUT_GIL(st = rf_contact_local_create(&set, &run.run, &local, &err));
  self = st < 0 ? py_raise(state, st, &err) : py_object_new(type, local, release, NULL);
done:
  PY_IN_RELEASE(&places, &weights, &basis, &stiffness);
  return self;
}

PY_GETTER(get_lacking, self, rf_contact_local, l,
          py_view_f64(self, l->lacking, 1, (npy_intp[]){l->n_points}))

static PyObject *get_bytes(PyObject *self, void *unused) {
  (void)unused;
  const rf_contact_local *l = self_local(self);
  const int64_t points = (int64_t)l->n_points * (l->corners * 12 + 8);
  const rf_cubic *c = l->second;
  const int64_t more = c ? 4 * (c->at[c->n] + c->first[c->n]) + 40 * (int64_t)c->n : 0;
  return PyLong_FromLongLong(4 * rf_contact_local_entries(l->n_carriers) + points + more);
}

PyDoc_STRVAR(between_doc,
             "between($self, p, q, /)\n--\n\n"
             "Displacement of point p by a force at point q, (3, 3).");
static PyObject *between(PyObject *self, PyObject *args) {
  const rf_contact_local *l = self_local(self);
  int p, q;
  if (!PyArg_ParseTuple(args, "ii:between", &p, &q)) return NULL;
  for (int k = 0; k < 2; ++k)
    if ((k ? q : p) < 0 || (k ? q : p) >= l->n_points)
      return py_fail(py_state_of_object(self), PY_INPUT_ERROR, "%s is %d; points are 0 to %d",
                     k ? "q" : "p", k ? q : p, (int)l->n_points - 1);
  PyObject *out = py_new_f64(2, (npy_intp[]){3, 3});
  if (out) rf_contact_local_between_rt(l, p, q, py_f64(out));
  return out;
}

PyDoc_STRVAR(displacement_doc,
             "displacement($self, points, forces, /)\n--\n\n"
             "Displacements (n, 3) of all points by forces (m, 3) at points (m,).");
static PyObject *displacement(PyObject *self, PyObject *args) {
  const rf_contact_local *l = self_local(self);
  PyObject *points_obj, *forces_obj, *out = NULL;
  py_in points = {0}, forces = {0};
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "OO:displacement", &points_obj, &forces_obj)) return NULL;
  if (py_in_i32(&points, points_obj, "points", 1, (npy_intp[]){PY_ANY}, 0, l->n_points - 1) < 0 ||
      py_in_f64(&forces, forces_obj, "force", 2, (npy_intp[]){PY_ANY, 3}) < 0)
    goto done;
  if (forces.shape[0] != points.shape[0]) {
    py_fail(py_state_of_object(self), PY_INPUT_ERROR,
            "force has %zd rows for %zd points; each of the points needs one", forces.shape[0],
            points.shape[0]);
    goto done;
  }
  out = py_new_f64(2, (npy_intp[]){l->n_points, 3});
  if (!out) goto done;
  double *u = py_f64(out);
  PY_WITHOUT_GIL(st = rf_contact_local_displace(l, (int32_t)points.shape[0], points.data,
                                                forces.data, u, &err));
  out = py_result(py_state_of_object(self), st, &err, out);
done:
  PY_IN_RELEASE(&points, &forces);
  return out;
}

PyDoc_STRVAR(
    add_second_doc,
    "add_second($self, solid, nodes, weights, directions, places, basis, stiffness, reach,\n"
    "           most, progress, threads, /)\n--\n\n"
    "Add the second order of points up to a distance apart, in at most so many entries;\n"
    "once, before the object is used. Weights are zero at fixed nodes, and the basis\n"
    "(r, n, 3), with its stiffness (r, r), is that of all nodes. Returns the relative error by\n"
    "elements that are left out.");
static PyObject *add_second(PyObject *self, PyObject *args) {
  rf_contact_local *l = py_held(self);
  py_state *state = py_state_of_object(self);
  PyObject *solid_obj, *nodes_obj, *weights_obj, *directions_obj, *places_obj, *progress;
  PyObject *basis_obj, *stiffness_obj;
  PyObject *out = NULL;
  py_in nodes = {0}, weights = {0}, directions = {0}, places = {0}, basis = {0}, stiffness = {0};
  rf_cubic *second = NULL;
  rf_error err = {0};
  rf_status st;
  py_run run;
  double reach, off = 0.0;
  long long most;
  int threads;
  if (!PyArg_ParseTuple(args, "OOOOOOOdLOi:add_second", &solid_obj, &nodes_obj, &weights_obj,
                        &directions_obj, &places_obj, &basis_obj, &stiffness_obj, &reach, &most,
                        &progress, &threads))
    return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &run, progress, threads) < 0) return NULL;
  const npy_intp vectors[] = {l->n_points, 3};
  if (py_in_i32(&nodes, nodes_obj, "nodes", 2, (npy_intp[]){l->n_points, PY_ANY}, 0,
                solid->mesh->n_nodes - 1) < 0 ||
      py_in_f64(&weights, weights_obj, "weights", 2, nodes.shape) < 0 ||
      py_in_f64(&directions, directions_obj, "directions", 2, vectors) < 0 ||
      py_in_f64(&places, places_obj, "places", 2, vectors) < 0 ||
      py_in_f64(&basis, basis_obj, "basis", 3, (npy_intp[]){PY_ANY, solid->mesh->n_nodes, 3}) < 0 ||
      py_in_f64(&stiffness, stiffness_obj, "stiffness", 2,
                (npy_intp[]){basis.shape[0], basis.shape[0]}) < 0)
    goto done;
  if (l->second) {
    py_fail(state, PY_INPUT_ERROR, "the local compliance has a second order already");
    goto done;
  }
  const rf_green_points points = {.n = l->n_points,
                                  .corners = (int32_t)nodes.shape[1],
                                  .node = nodes.data,
                                  .weight = weights.data,
                                  .direction = directions.data,
                                  .place = places.data,
                                  .r = (int32_t)basis.shape[0],
                                  .basis = basis.data,
                                  .stiffness = stiffness.data};
  Py_BEGIN_ALLOW_THREADS
  st = rf_green_second(solid, &run.run, &points, reach, most, &second, &off, &err);
  if (st >= 0) st = rf_contact_local_take_second(l, second, points.direction, &err);
  if (st < 0) rf_cubic_free(second);
  Py_END_ALLOW_THREADS
  out = py_result(state, st, &err, PyFloat_FromDouble(off));
done:
  PY_IN_RELEASE(&nodes, &weights, &directions, &places, &basis, &stiffness);
  return out;
}

PyDoc_STRVAR(second_doc,
             "second($self, points, forces, /)\n--\n\n"
             "Changes (m, m) of the compliances between points (m,), distinct and ascending, by\n"
             "forces (m,) on them along their directions.");
static PyObject *second(PyObject *self, PyObject *args) {
  const rf_contact_local *l = self_local(self);
  PyObject *points_obj, *forces_obj, *out = NULL;
  py_in points = {0}, forces = {0};
  int32_t *near = NULL;
  if (!PyArg_ParseTuple(args, "OO:second", &points_obj, &forces_obj)) return NULL;
  if (py_in_i32(&points, points_obj, "points", 1, (npy_intp[]){PY_ANY}, 0, l->n_points - 1) < 0 ||
      py_in_f64(&forces, forces_obj, "forces", 1, points.shape) < 0)
    goto done;
  const int32_t *at = points.data;
  for (npy_intp k = 1; k < points.shape[0]; ++k)
    if (at[k] <= at[k - 1]) {
      py_fail(py_state_of_object(self), PY_INPUT_ERROR, "points[%zd] is %d after %d", k, (int)at[k],
              (int)at[k - 1]);
      goto done;
    }
  out = py_new_f64(2, (npy_intp[]){points.shape[0], points.shape[0]});
  near = rf_alloc((size_t)points.shape[0] + 1, sizeof *near);
  if (out && !near) {
    Py_CLEAR(out);
    PyErr_NoMemory();
  }
  if (out && l->second)
    rf_cubic_second_rt(l->second, (int32_t)points.shape[0], at, forces.data, true, near,
                       py_f64(out));
  else if (out)
    memset(py_f64(out), 0, (size_t)(points.shape[0] * points.shape[0]) * sizeof(double));
done:
  rf_free(near);
  PY_IN_RELEASE(&points, &forces);
  return out;
}

// Mean of the compliances of a point along all directions.
static PyObject *get_mean_compliance(PyObject *self, void *unused) {
  (void)unused;
  const rf_contact_local *l = self_local(self);
  PyObject *out = py_new_f64(1, (npy_intp[]){l->n_points});
  for (int32_t p = 0; out && p < l->n_points; ++p) {
    double block[9];
    rf_contact_local_between_rt(l, p, p, block);
    py_f64(out)[p] = (block[0] + block[4] + block[8]) / 3.0;
  }
  return out;
}

static PyGetSetDef getset[] = {
    {"mean_compliance", get_mean_compliance, NULL,
     "Mean compliance of each point by a force on itself [m/N], (n,).", NULL},
    {"lacking", get_lacking, NULL, "Share of the compliance of each point, (n,); read-only view.",
     NULL},
    {"bytes", get_bytes, NULL, "Memory [bytes].", NULL},
    {0},
};

static PyMethodDef methods[] = {
    {"between", between, METH_VARARGS, between_doc},
    {"displacement", displacement, METH_VARARGS, displacement_doc},
    {"add_second", add_second, METH_VARARGS, add_second_doc},
    {"second", second, METH_VARARGS, second_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(local_doc,
             "LocalCompliance(green, places, weights, basis, stiffness, by_points, progress, "
             "threads, /)\n--\n\n"
             "Local compliance of points, by places in a Green and weights (n, corners), with a\n"
             "basis at the nodes (s, 3, r) and its stiffness (r, r).");

static PyType_Spec local_spec = PY_SPEC(
    "LocalCompliance", py_object, {Py_tp_new, local_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, methods}, {Py_tp_getset, getset}, {Py_tp_doc, (void *)local_doc});

const py_room py_local_room = {.types = {{PY_LOCAL, &local_spec}}};
