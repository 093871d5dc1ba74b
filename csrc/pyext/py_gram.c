// Blocks of the sum that gives the coefficients of a polynomial, for workers elsewhere.
#include "base/alloc.h"
#include "fem/fem.h"
#include "polynomial/polynomial.h"
#include "pyext/py_fields.h"
#include "pyext/py_solid.h"

enum { FACTOR = RF_STRAINS * RF_STRAINS + 1 };  // numbers of a factor

PyDoc_STRVAR(blocks_doc,
             "polynomial_blocks($module, solid, /)\n--\n\n"
             "Number of blocks whose coefficients add up to those of the solid's polynomial.");
static PyObject *polynomial_blocks(PyObject *module, PyObject *solid_obj) {
  const rf_solid *solid = py_solid_get(py_state_of_module(module), solid_obj);
  return solid ? PyLong_FromLong(rf_gram_blocks(solid, solid->mesh->n_elements)) : NULL;
}

PyDoc_STRVAR(count_doc,
             "polynomial_count($module, r, /)\n--\n\n"
             "Number of coefficients of a polynomial of r coordinates.");
static PyObject *polynomial_count(PyObject *module, PyObject *args) {
  int r;
  if (!PyArg_ParseTuple(args, "i:polynomial_count", &r)) return NULL;
  if (r < 1 || r > RF_POLYNOMIAL_MAX_R)
    return py_fail(py_state_of_module(module), PY_INPUT_ERROR, "r must be between 1 and %d, got %d",
                   RF_POLYNOMIAL_MAX_R, r);
  return PyLong_FromLongLong(rf_polynomial_count(r));
}

static PyObject *copy_f64(const double *from, int ndim, const npy_intp *shape) {
  PyObject *out = py_new_f64(ndim, shape);
  if (out) memcpy(py_f64(out), from, (size_t)PyArray_NBYTES((PyArrayObject *)out));
  return out;
}
static PyObject *copy_i32(const int32_t *from, int ndim, const npy_intp *shape) {
  PyObject *out = py_new_i32(ndim, shape);
  if (out) memcpy(py_i32(out), from, (size_t)PyArray_NBYTES((PyArrayObject *)out));
  return out;
}

static void write_factors(int32_t count, const rf_strain_factor *factor, double *out) {
  for (int32_t m = 0; m < count; ++m, out += FACTOR) {
    memcpy(out, factor[m].l, sizeof factor[m].l);
    out[FACTOR - 1] = factor[m].coupled;
  }
}

static void read_factors(int32_t count, const double *in, rf_strain_factor *factor) {
  for (int32_t m = 0; m < count; ++m, in += FACTOR) {
    memcpy(factor[m].l, in, sizeof factor[m].l);
    factor[m].coupled = in[FACTOR - 1] != 0.0;
  }
}

// Returns the tuple of a block and the factors (n_materials, FACTOR), taken over.
static PyObject *pack(const rf_gram_block *b, PyObject *factors) {
  const npy_intp e = b->n_elements, n = b->nodes, p = b->n_points;
  return Py_BuildValue("iNNNNNNNN", (int)b->usual, factors,
                       copy_i32(b->corner, 2, (npy_intp[]){e, n}), copy_i32(b->material, 1, &e),
                       copy_i32(b->points, 1, &e), copy_i32(b->first, 1, &e),
                       copy_f64(b->gradient, 3, (npy_intp[]){p, n, 3}), copy_f64(b->volume, 1, &p),
                       copy_f64(b->basis, 3, (npy_intp[]){b->n_nodes, 3, b->r}));
}

PyDoc_STRVAR(block_doc,
             "polynomial_block($module, solid, basis, index, /)\n--\n\n"
             "All data of one block, as a tuple of arrays for `block_coefficients`.");
static PyObject *polynomial_block(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *vectors, *factors = NULL, *result = NULL;
  int index;
  py_fields basis;
  if (!PyArg_ParseTuple(args, "OOi:polynomial_block", &solid, &vectors, &index) ||
      py_basis_in(state, &basis, solid, vectors, NULL, 1) < 0)
    return NULL;
  const int32_t materials = basis.solid->n_materials;
  rf_gram_block block = {0};
  rf_error err = {0};
  rf_status st = RF_OK;
  rf_strain_factor *factor = rf_alloc((size_t)materials, sizeof *factor);
  double *modulus = rf_alloc((size_t)materials, sizeof *modulus);
  factors = py_new_f64(2, (npy_intp[]){materials, FACTOR});
  if (!factor || !modulus) PyErr_NoMemory();
  if (!factor || !modulus || !factors) goto done;
  Py_BEGIN_ALLOW_THREADS
  st = rf_polynomial_factors(basis.solid, factor, modulus, &err);
  if (st >= 0)
    st = rf_gram_gather(basis.solid, NULL, basis.solid->mesh->n_elements, basis.count, basis.data,
                        index, &block, &err);
  Py_END_ALLOW_THREADS
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  write_factors(materials, factor, py_f64(factors));
  result = pack(&block, Py_NewRef(factors));
done:
  Py_XDECREF(factors);
  rf_gram_block_free(&block);
  rf_free(factor);
  rf_free(modulus);
  py_fields_release(&basis);
  return result;
}

typedef struct inputs {
  py_in factors, corner, material, points, first, gradient, volume, basis;
} inputs;

static void release(inputs *in) {
  PY_IN_RELEASE(&in->factors, &in->corner, &in->material, &in->points, &in->first, &in->gradient,
                &in->volume, &in->basis);
}

// Converts and checks the data of a block; it stays valid until `in` is released.
static int unpack(py_state *state, PyObject *data, inputs *in, rf_gram_block *b) {
  PyObject *factors, *corner, *material, *points, *first, *gradient, *volume, *basis;
  int usual;
  if (!PyTuple_Check(data)) {
    py_fail(state, PY_INPUT_TYPE_ERROR, "data must be a tuple of polynomial_block, got %s",
            Py_TYPE(data)->tp_name);
    return -1;
  }
  if (!PyArg_ParseTuple(data, "iOOOOOOOO:block", &usual, &factors, &corner, &material, &points,
                        &first, &gradient, &volume, &basis))
    return -1;
  if (py_in_f64(&in->factors, factors, "factors", 2, (npy_intp[]){PY_ANY, FACTOR}) < 0 ||
      py_in_f64(&in->basis, basis, "basis", 3, (npy_intp[]){PY_ANY, 3, PY_ANY}) < 0 ||
      py_in_f64(&in->gradient, gradient, "gradient", 3, (npy_intp[]){PY_ANY, PY_ANY, 3}) < 0)
    return -1;
  const npy_intp nodes = in->gradient.shape[1], n_points = in->gradient.shape[0];
  if (py_in_f64(&in->volume, volume, "volume", 1, &n_points) < 0 ||
      py_in_i32(&in->corner, corner, "corner", 2, (npy_intp[]){PY_ANY, nodes}, 0,
                (int32_t)in->basis.shape[0] - 1) < 0)
    return -1;
  const npy_intp count = in->corner.shape[0];
  if (py_in_i32(&in->material, material, "material", 1, &count, 0,
                (int32_t)in->factors.shape[0] - 1) < 0 ||
      py_in_i32(&in->points, points, "points", 1, &count, 1, (int32_t)n_points) < 0 ||
      py_in_i32(&in->first, first, "first", 1, &count, 0, (int32_t)n_points - 1) < 0)
    return -1;
  *b = (rf_gram_block){.r = (int32_t)in->basis.shape[2],
                       .nodes = (int32_t)nodes,
                       .usual = usual,
                       .n_elements = (int32_t)count,
                       .n_nodes = (int32_t)in->basis.shape[0],
                       .n_points = (int32_t)n_points,
                       .corner = in->corner.data,
                       .material = in->material.data,
                       .points = in->points.data,
                       .first = in->first.data,
                       .gradient = in->gradient.data,
                       .volume = in->volume.data,
                       .basis = in->basis.data};
  bool good = b->r >= 1 && b->r <= RF_POLYNOMIAL_MAX_R && nodes >= 1 && nodes <= RF_MAX_NODES &&
              usual >= 1 && count >= 1;
  for (npy_intp k = 0; k < count && good; ++k) good = b->first[k] <= b->n_points - b->points[k];
  for (npy_intp p = 0; p < n_points && good; ++p) good = b->volume[p] > 0.0;
  if (good) return 0;
  py_fail(state, PY_INPUT_ERROR, "data is no block of a polynomial: its arrays do not match");
  return -1;
}

PyDoc_STRVAR(coefficients_doc,
             "block_coefficients($module, data, simd, threads, /)\n--\n\n"
             "Coefficients of the polynomial of one block.");
static PyObject *block_coefficients(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *data, *out = NULL;
  int simd, threads;
  inputs in = {0};
  rf_gram_block block = {0};
  rf_strain_factor *factor = NULL;
  py_run run;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "Oii:block_coefficients", &data, &simd, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  if (unpack(state, data, &in, &block) < 0) goto done;
  const int32_t materials = (int32_t)in.factors.shape[0];
  factor = rf_alloc((size_t)materials, sizeof *factor);
  if (!factor) {
    PyErr_NoMemory();
    goto done;
  }
  read_factors(materials, in.factors.data, factor);
  out = py_new_f64(1, (npy_intp[]){(npy_intp)rf_polynomial_count(block.r)});
  if (!out) goto done;
  double *to = py_f64(out);
  rf_status st;
  PY_WITHOUT_GIL(st = rf_polynomial_block(&block, &run.run, factor, (rf_simd)simd, to, &err));
  out = py_result(state, st, &err, out);
done:
  rf_free(factor);
  release(&in);
  return out;
}

PyDoc_STRVAR(add_doc,
             "add_coefficients($module, total, part, /)\n--\n\n"
             "Add the coefficients (c,) of a block to a total (c,), a writable float64 array.");
static PyObject *add_coefficients(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *total, *part_obj;
  py_in part;
  if (!PyArg_ParseTuple(args, "OO:add_coefficients", &total, &part_obj)) return NULL;
  PyArrayObject *to = (PyArrayObject *)total;
  if (!PyArray_Check(total) || PyArray_TYPE(to) != NPY_DOUBLE || PyArray_NDIM(to) != 1 ||
      !PyArray_ISCARRAY(to))
    return py_fail(state, PY_INPUT_TYPE_ERROR,
                   "total must be a writable array of float64 with one axis");
  if (py_in_f64(&part, part_obj, "part", 1, PyArray_DIMS(to)) < 0) return NULL;
  rf_polynomial_add(PyArray_DIM(to, 0), part.data, PyArray_DATA(to));
  py_in_release(&part);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"polynomial_count", polynomial_count, METH_VARARGS, count_doc},
    {"polynomial_blocks", polynomial_blocks, METH_O, blocks_doc},
    {"polynomial_block", polynomial_block, METH_VARARGS, block_doc},
    {"block_coefficients", block_coefficients, METH_VARARGS, coefficients_doc},
    {"add_coefficients", add_coefficients, METH_VARARGS, add_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_gram_room = {.functions = functions};
