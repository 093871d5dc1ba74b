// Mass-PCA and the basis from modal derivatives.
#include "basis/basis.h"
#include "basis/lacking.h"
#include "pyext/py_fields.h"
#include "pyext/py_modes.h"
#include "pyext/py_solid.h"

// Returns (vectors (r, n, 3), spectrum (count,)) of a C basis.
static PyObject *basis_arrays(const rf_basis *basis) {
  PyObject *vectors = py_new_f64(3, (npy_intp[]){basis->r, basis->n_nodes, 3});
  PyObject *spectrum = py_new_f64(1, (npy_intp[]){basis->n_spectrum});
  PyObject *result = NULL;
  if (vectors && spectrum) {
    const size_t size = 3 * (size_t)basis->n_nodes * (size_t)basis->r;
    memcpy(py_f64(vectors), basis->vectors, size * sizeof(double));
    memcpy(py_f64(spectrum), basis->spectrum, (size_t)basis->n_spectrum * sizeof(double));
    result = PyTuple_Pack(2, vectors, spectrum);
  }
  PY_XDECREF(vectors, spectrum);
  return result;
}

PyDoc_STRVAR(mass_pca_doc,
             "mass_pca($module, solid, vectors, weights, r, progress, threads, at_most=False, /)\n"
             "--\n\n"
             "Mass-orthonormal vectors (r, n, 3) and all singular values of the weighted\n"
             "deformation vectors (count, n, 3); weights (count,) or None. With at_most, r is\n"
             "lowered to the rank.");
static PyObject *mass_pca(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *fields, *weights_obj, *progress, *result = NULL;
  int r, threads, at_most = 0;
  py_fields vectors;
  py_in weights = {0};
  rf_basis basis = {0};
  if (!PyArg_ParseTuple(args, "OOOiOi|p:mass_pca", &solid, &fields, &weights_obj, &r, &progress,
                        &threads, &at_most) ||
      py_fields_in(state, &vectors, solid, fields, "vectors", progress, threads) < 0)
    return NULL;
  if (weights_obj != Py_None &&
      py_in_f64(&weights, weights_obj, "weights", 1, vectors.in.shape) < 0)
    goto done;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_basis_mass_pca(vectors.solid, &vectors.run.run, vectors.count,
                                        vectors.data, weights.data, r, at_most != 0, &basis, &err));
  result = st < 0 ? py_raise(state, st, &err) : basis_arrays(&basis);
done:
  rf_basis_free(&basis);
  py_fields_release(&vectors);
  py_in_release(&weights);
  return result;
}

PyDoc_STRVAR(modal_basis_doc,
             "modal_derivative_basis($module, solid, k, r, progress, threads, at_most=False, /)\n"
             "--\n\n"
             "Vectors (r, n, 3), all singular values, and the eigenvalues (k,) and frequencies\n"
             "(k,) of the modes. With at_most, r is lowered to the rank.");
static PyObject *modal_derivative_basis(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid_obj = NULL, *callable = NULL;
  PyObject *values = NULL, *frequencies = NULL, *arrays = NULL, *result = NULL;
  int k = 0, r = 0, threads = 0, at_most = 0;
  rf_basis basis = {0};
  py_run run;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OiiOi|p:modal_derivative_basis", &solid_obj, &k, &r, &callable,
                        &threads, &at_most))
    return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &run, callable, threads) < 0) return NULL;
  if (py_modes_arrays(state, solid, 0, k, &values, &frequencies) < 0) goto done;
  double *value = py_f64(values);
  rf_status st;
  PY_WITHOUT_GIL(
      st = rf_basis_modal_derivatives(solid, &run.run, k, r, at_most != 0, value, &basis, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  rf_modes_frequencies(k, value, py_f64(frequencies));
  arrays = basis_arrays(&basis);
  if (arrays)
    result = PyTuple_Pack(4, PyTuple_GET_ITEM(arrays, 0), PyTuple_GET_ITEM(arrays, 1), values,
                          frequencies);
done:
  rf_basis_free(&basis);
  PY_XDECREF(values, frequencies, arrays);
  return result;
}

PyDoc_STRVAR(of_derivatives_doc,
             "basis_of_derivatives($module, solid, eigenvalues, shapes, derivatives, r, progress,\n"
             "threads, at_most=False, /)\n--\n\n"
             "Vectors (r, n, 3) and all singular values of the basis of known modes (k, n, 3) and\n"
             "derivatives (k(k+1)/2, n, 3) of a solid with fixed nodes.");
static PyObject *basis_of_derivatives(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *values_obj, *shapes_obj, *derivatives_obj, *progress, *result = NULL;
  int r, threads, at_most = 0;
  py_fields shapes;
  py_in values = {0}, derivatives = {0};
  rf_basis basis = {0};
  if (!PyArg_ParseTuple(args, "OOOOiOi|p:basis_of_derivatives", &solid, &values_obj, &shapes_obj,
                        &derivatives_obj, &r, &progress, &threads, &at_most) ||
      py_fields_in(state, &shapes, solid, shapes_obj, "shapes", progress, threads) < 0)
    return NULL;
  const npy_intp pairs = (npy_intp)rf_modes_pairs(shapes.count);
  if (py_in_f64(&values, values_obj, "eigenvalues", 1, shapes.in.shape) < 0 ||
      py_in_f64(&derivatives, derivatives_obj, "derivatives", 3,
                (npy_intp[]){pairs, shapes.solid->mesh->n_nodes, 3}) < 0)
    goto done;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_basis_of_derivatives(shapes.solid, &shapes.run.run, shapes.count, r,
                                              at_most != 0, values.data, shapes.data,
                                              derivatives.data, &basis, &err));
  result = st < 0 ? py_raise(state, st, &err) : basis_arrays(&basis);
done:
  rf_basis_free(&basis);
  py_fields_release(&shapes);
  PY_IN_RELEASE(&values, &derivatives);
  return result;
}

PyDoc_STRVAR(lacking_doc,
             "lacking_compliance($module, solid, vectors, loads, progress, threads, /)\n--\n\n"
             "Share of the static compliance under loads (count, n, 3) that vectors (r, n, 3)\n"
             "lack, and the works of the loads [J]: (2, count).");
static PyObject *lacking_compliance(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *basis, *loads_obj, *progress, *out = NULL, *result = NULL;
  int threads;
  py_fields vectors;
  py_in loads = {0};
  if (!PyArg_ParseTuple(args, "OOOOi:lacking_compliance", &solid, &basis, &loads_obj, &progress,
                        &threads) ||
      py_basis_in(state, &vectors, solid, basis, progress, threads) < 0)
    return NULL;
  const npy_intp n = vectors.solid->mesh->n_nodes;
  if (py_in_f64(&loads, loads_obj, "loads", 3, (npy_intp[]){PY_ANY, n, 3}) < 0) goto done;
  const npy_intp count = loads.shape[0];
  if (count > INT32_MAX) {
    py_fail(state, PY_INPUT_ERROR, "loads must hold at most %d, got %zd", INT32_MAX, count);
    goto done;
  }
  out = py_new_f64(2, (npy_intp[]){2, count});
  if (!out) goto done;
  double *share = py_f64(out);
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_basis_lacking(vectors.solid, &vectors.run.run, vectors.count, vectors.data,
                                       (int32_t)count, loads.data, share, share + count, &err));
  result = py_result(state, st, &err, out);
done:
  py_fields_release(&vectors);
  py_in_release(&loads);
  return result;
}

static PyMethodDef functions[] = {
    {"lacking_compliance", lacking_compliance, METH_VARARGS, lacking_doc},
    {"mass_pca", mass_pca, METH_VARARGS, mass_pca_doc},
    {"modal_derivative_basis", modal_derivative_basis, METH_VARARGS, modal_basis_doc},
    {"basis_of_derivatives", basis_of_derivatives, METH_VARARGS, of_derivatives_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_basis_room = {.functions = functions};
