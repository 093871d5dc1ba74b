// Bases from force sketches: linear model, thinning, independence.
#include "base/alloc.h"
#include "basis/independent.h"
#include "basis/thin.h"
#include "pyext/py_fields.h"
#include "pyext/py_loads.h"

PyDoc_STRVAR(response_doc,
             "modal_response($module, eigenvalues, shapes, nodes, force, modal, /)\n--\n\n"
             "Static response of modes (k, n, 3) to forces (m, 3) at nodes (m,) and to modal\n"
             "forces (k,): displacements (n, 3) and modal coordinates (k,).");
static PyObject *modal_response(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *objects[5], *u = NULL, *q = NULL, *result = NULL;
  py_in values = {0}, shapes = {0}, nodes = {0}, force = {0}, modal = {0};
  const npy_intp any[3] = {PY_ANY, PY_ANY, 3};
  if (!PyArg_ParseTuple(args, "OOOOO:modal_response", objects, objects + 1, objects + 2,
                        objects + 3, objects + 4))
    return NULL;
  if (py_in_f64(&shapes, objects[1], "shapes", 3, any) < 0) return NULL;
  const npy_intp k = shapes.shape[0], n = shapes.shape[1];
  if (k < 1 || n < 1) {
    py_fail(state, PY_INPUT_ERROR, "shapes has %zd modes of %zd nodes", k, n);
    goto done;
  }
  if (py_in_f64(&values, objects[0], "eigenvalues", 1, &k) < 0 ||
      py_in_i32(&nodes, objects[2], "nodes", 1, any, 0, (int32_t)n - 1) < 0 ||
      py_in_f64(&force, objects[3], "force", 2, (npy_intp[]){nodes.shape[0], 3}) < 0 ||
      py_in_f64(&modal, objects[4], "modal", 1, &k) < 0)
    goto done;
  u = py_new_f64(2, (npy_intp[]){n, 3});
  q = py_new_f64(1, &k);
  if (!u || !q) goto done;
  rf_error err = {0};
  rf_status st;
  double *to = py_f64(u), *coordinate = py_f64(q);
  PY_WITHOUT_GIL(st = rf_modes_response((int32_t)k, (int32_t)n, values.data, shapes.data,
                                        (int32_t)nodes.shape[0], nodes.data, force.data, modal.data,
                                        coordinate, to, &err));
  result = st < 0 ? py_raise(state, st, &err) : PyTuple_Pack(2, u, q);
done:
  PY_IN_RELEASE(&values, &shapes, &nodes, &force, &modal);
  PY_XDECREF(u, q);
  return result;
}

// Returns the indices marked in `keep` and frees it; NULL `keep`: out of memory.
static PyObject *kept_indices(py_state *state, rf_status st, const rf_error *err, int32_t count,
                              bool *keep) {
  PyObject *out = NULL;
  npy_intp kept = 0;
  if (!keep) {
    PyErr_SetString(PyExc_MemoryError, "out of memory: marks of the samples");
  } else if (st < 0) {
    py_raise(state, st, err);
  } else {
    for (int32_t i = 0; i < count; ++i) kept += keep[i];
    out = py_new_i32(1, &kept);
    int32_t *to = out ? py_i32(out) : NULL;
    for (int32_t i = 0; to && i < count; ++i)
      if (keep[i]) *to++ = i;
  }
  rf_free(keep);
  return out;
}

PyDoc_STRVAR(thin_doc,
             "thin($module, points, distance, progress, threads, /)\n--\n\n"
             "Indices of points (m, d) that keep a minimum distance; see csrc/basis/thin.h.");
static PyObject *thin(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *points_obj, *progress;
  double distance;
  int threads;
  py_in points;
  py_run run;
  if (!PyArg_ParseTuple(args, "OdOi:thin", &points_obj, &distance, &progress, &threads))
    return NULL;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  if (py_in_f64(&points, points_obj, "points", 2, (npy_intp[]){PY_ANY, PY_ANY}) < 0) return NULL;
  const npy_intp given = points.shape[0];
  if (given >= INT32_MAX) {
    py_in_release(&points);
    return py_fail(state, PY_INPUT_ERROR, "there are too many samples: %zd", given);
  }
  const int32_t count = (int32_t)given;
  rf_error err = {0};
  rf_status st = RF_OK;
  bool *keep = rf_alloc((size_t)count, sizeof *keep);
  if (keep) {
    PY_WITHOUT_GIL(
        st = rf_thin(&run.run, count, points.shape[1], points.data, distance, keep, &err));
  }
  py_in_release(&points);
  return kept_indices(state, st, &err, count, keep);
}

PyDoc_STRVAR(dense_loads_doc,
             "dense_loads($module, loads, n, /)\n--\n\n"
             "Loads (ptr, node, force, patterns, coordinates) on n nodes as points (count, dim),\n"
             "over the nodes that any of them touches.");
static PyObject *dense_loads(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *tuple, *result = NULL;
  int n;
  py_loads loads = {0};
  double *points = NULL;
  int64_t dim = 0;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "Oi:dense_loads", &tuple, &n)) return NULL;
  if (n < 1) return py_fail(state, PY_INPUT_ERROR, "n must be at least 1, got %d", n);
  if (py_in_loads(state, &loads, tuple, n) < 0) goto done;
  rf_status st;
  PY_WITHOUT_GIL(st = rf_loads_dense(&loads.view, n, &points, &dim, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  result = py_new_f64(2, (npy_intp[]){loads.view.count, (npy_intp)dim});
  if (result)
    memcpy(py_f64(result), points, (size_t)loads.view.count * (size_t)dim * sizeof *points);
done:
  rf_free(points);
  py_loads_release(&loads);
  return result;
}

PyDoc_STRVAR(thin_shapes_doc,
             "thin_shapes($module, solid, shapes, distance, progress, threads, /)\n--\n\n"
             "Indices of shapes (m, n, 3) that keep a minimum distance in the metric of the mass.");
static PyObject *thin_shapes(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *fields, *progress;
  double distance;
  int threads;
  py_fields shapes;
  if (!PyArg_ParseTuple(args, "OOdOi:thin_shapes", &solid, &fields, &distance, &progress,
                        &threads) ||
      py_fields_in(state, &shapes, solid, fields, "shapes", progress, threads) < 0)
    return NULL;
  rf_error err = {0};
  rf_status st = RF_OK;
  bool *keep = rf_alloc((size_t)shapes.count, sizeof *keep);
  if (keep) {
    PY_WITHOUT_GIL(st = rf_thin_shapes(shapes.solid, &shapes.run.run, shapes.count, shapes.data,
                                       distance, keep, &err));
  }
  py_fields_release(&shapes);
  return kept_indices(state, st, &err, shapes.count, keep);
}

PyDoc_STRVAR(mass_product_doc,
             "mass_product($module, solid, fields, threads, /)\n--\n\n"
             "M x for fields (m, n, 3), M the consistent mass.");
static PyObject *mass_product(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *given;
  int threads;
  py_fields fields;
  if (!PyArg_ParseTuple(args, "OOi:mass_product", &solid, &given, &threads) ||
      py_fields_in(state, &fields, solid, given, "fields", NULL, threads) < 0)
    return NULL;
  PyObject *out = py_new_f64(3, fields.in.shape);
  rf_error err = {0};
  rf_status st = RF_OK;
  if (out) {
    double *to = py_f64(out);
    PY_WITHOUT_GIL(st = rf_solid_mass_multiply(fields.solid, &fields.run.run, fields.count,
                                               fields.data, to, &err));
  }
  py_fields_release(&fields);
  return py_result(state, st, &err, out);
}

PyDoc_STRVAR(
    independent_doc,
    "independent($module, solid, vectors, tolerance, progress, threads, /)\n--\n\n"
    "Residual (m,) of each deformation (m, n, 3) beside those kept before it; 0: not kept.");
static PyObject *independent(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *fields, *progress;
  double tolerance;
  int threads;
  py_fields vectors;
  if (!PyArg_ParseTuple(args, "OOdOi:independent", &solid, &fields, &tolerance, &progress,
                        &threads) ||
      py_fields_in(state, &vectors, solid, fields, "vectors", progress, threads) < 0)
    return NULL;
  PyObject *out = py_new_f64(1, vectors.in.shape);
  rf_error err = {0};
  rf_status st = RF_OK;
  if (out) {
    double *to = py_f64(out);
    PY_WITHOUT_GIL(st = rf_basis_independent(vectors.solid, &vectors.run.run, vectors.count,
                                             vectors.data, tolerance, to, &err));
  }
  py_fields_release(&vectors);
  return py_result(state, st, &err, out);
}

static PyMethodDef functions[] = {
    {"modal_response", modal_response, METH_VARARGS, response_doc},
    {"thin", thin, METH_VARARGS, thin_doc},
    {"dense_loads", dense_loads, METH_VARARGS, dense_loads_doc},
    {"thin_shapes", thin_shapes, METH_VARARGS, thin_shapes_doc},
    {"mass_product", mass_product, METH_VARARGS, mass_product_doc},
    {"independent", independent, METH_VARARGS, independent_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_sketch_room = {.functions = functions};
