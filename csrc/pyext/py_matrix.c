#include "pyext/py_matrix.h"

void py_matrix_release(py_matrix *m) { PY_IN_RELEASE(&m->data, &m->indices, &m->indptr); }

int py_in_matrix(py_state *state, py_matrix *m, PyObject *tuple, const char *name) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 3) {
    py_fail(state, PY_INPUT_TYPE_ERROR, "%s must be a tuple (data, indices, indptr)", name);
    return -1;
  }
  PyObject *const data = PyTuple_GET_ITEM(tuple, 0), *const indices = PyTuple_GET_ITEM(tuple, 1);
  PyObject *const indptr = PyTuple_GET_ITEM(tuple, 2);
  const npy_intp any = PY_ANY;
  if (py_in_i32(&m->indptr, indptr, "indptr", 1, &any, 0, INT32_MAX) < 0) return -1;
  const npy_intp n = m->indptr.shape[0] - 1;
  if (n < 1 || n >= INT32_MAX) {
    py_fail(state, PY_INPUT_ERROR, "%s has %zd columns; allowed are 1 to 2147483646", name, n);
    return -1;
  }
  const npy_intp *length = &m->data.shape[0];
  if (py_in_f64(&m->data, data, "data", 1, &any) < 0) return -1;
  if (py_in_i32(&m->indices, indices, "indices", 1, length, 0, (int32_t)n - 1) < 0) return -1;
  const int32_t *ptr = m->indptr.data, *ind = m->indices.data;
  int ok = ptr[0] == 0 && ptr[n] == *length;
  for (npy_intp j = 0; ok && j < n; ++j) {
    ok = ptr[j] < ptr[j + 1] && ptr[j + 1] <= *length && ind[ptr[j]] == j;
    for (int32_t p = ptr[j] + 1; ok && p < ptr[j + 1]; ++p) ok = ind[p] > ind[p - 1];
  }
  if (!ok) {
    py_fail(state, PY_INPUT_ERROR,
            "%s must be a lower triangle by columns, rows ascending, diagonal present", name);
    return -1;
  }
  m->view = (rf_csc){.rows = (int32_t)n,
                     .cols = (int32_t)n,
                     .colptr = m->indptr.data,
                     .rowind = m->indices.data,
                     .val = m->data.data};
  return 0;
}

int py_in_places(py_state *state, py_places *places, PyObject *points, int32_t n) {
  if (!points || points == Py_None) return 0;
  if (py_in_points(&places->point, points, "points") < 0) return -1;
  const npy_intp count = places->point.shape[0];
  if (count != n && (count < 1 || 3 * count != n)) {
    py_fail(state, PY_INPUT_ERROR,
            "points has %zd rows, but the matrix has %d: one point for each row or for each three "
            "rows",
            count, (int)n);
    return -1;
  }
  places->view = (rf_places){.width = (int32_t)(n / count), .point = places->point.data};
  places->used = &places->view;
  return 0;
}

// Converts any matrix: 0, or -1 with an exception set.  Release in either case.
static int any_matrix(py_state *state, py_matrix *m, PyObject *const parts[3], int rows, int cols) {
  const npy_intp any = PY_ANY, columns = (npy_intp)cols + 1;
  if (!(rows >= 1 && cols >= 0 && cols < INT32_MAX)) {
    py_fail(state, PY_INPUT_ERROR, "shape must be at least (1, 0), got (%d, %d)", rows, cols);
    return -1;
  }
  if (py_in_f64(&m->data, parts[0], "data", 1, &any) < 0) return -1;
  const npy_intp nnz = m->data.shape[0];
  if (py_in_i32(&m->indices, parts[1], "indices", 1, &nnz, 0, rows - 1) < 0 ||
      py_in_i32(&m->indptr, parts[2], "indptr", 1, &columns, 0, (int32_t)nnz) < 0)
    return -1;
  const int32_t *ptr = m->indptr.data;
  int ok = ptr[0] == 0 && ptr[cols] == nnz;
  for (int j = 0; ok && j < cols; ++j) ok = ptr[j] <= ptr[j + 1];
  if (!ok) {
    py_fail(state, PY_INPUT_ERROR,
            "indptr must go from 0 to %zd, the length of data, and not descend", nnz);
    return -1;
  }
  m->view = (rf_csc){.rows = rows,
                     .cols = cols,
                     .colptr = m->indptr.data,
                     .rowind = m->indices.data,
                     .val = m->data.data};
  return 0;
}

PyDoc_STRVAR(csc_product_doc,
             "csc_product($module, data, indices, indptr, rows, other, threads, /)\n--\n\n"
             "A X (rows, k) of a matrix by columns and X (columns, k).");
static PyObject *csc_product(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *parts[3], *other, *result = NULL;
  py_matrix matrix = {0};
  py_in x = {0};
  int rows, threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "OOOiOi:csc_product", &parts[0], &parts[1], &parts[2], &rows, &other,
                        &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  if (py_in_f64(&x, other, "other", 2, (npy_intp[]){PY_ANY, PY_ANY}) < 0 ||
      any_matrix(state, &matrix, parts, rows, (int)x.shape[0]) < 0)
    goto done;
  result = py_new_f64(2, (npy_intp[]){rows, x.shape[1]});
  if (!result) goto done;
  double *y = py_f64(result);
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_csc_multiply(&matrix.view, &run.run, (int32_t)x.shape[1], x.data, y, &err);
  Py_END_ALLOW_THREADS
  if (st < 0) {
    Py_CLEAR(result);
    py_raise(state, st, &err);
  }
done:
  py_matrix_release(&matrix);
  py_in_release(&x);
  return result;
}

static PyMethodDef functions[] = {
    {"csc_product", csc_product, METH_VARARGS, csc_product_doc},
    {NULL},
};

const py_room py_matrix_room = {.functions = functions};
