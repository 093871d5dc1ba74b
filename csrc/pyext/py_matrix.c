#include "pyext/py_matrix.h"

void py_matrix_release(py_matrix *m) {
  py_in_release(&m->data);
  py_in_release(&m->indices);
  py_in_release(&m->indptr);
}

int py_in_matrix(py_state *state, py_matrix *m, PyObject *tuple, const char *name) {
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 3) {
    py_fail(state, "InputTypeError", "%s must be a tuple (data, indices, indptr)", name);
    return -1;
  }
  PyObject *const data = PyTuple_GET_ITEM(tuple, 0), *const indices = PyTuple_GET_ITEM(tuple, 1);
  PyObject *const indptr = PyTuple_GET_ITEM(tuple, 2);
  const npy_intp any = PY_ANY;
  if (py_in_i32(&m->indptr, indptr, "indptr", 1, &any, 0, INT32_MAX) < 0) return -1;
  const npy_intp n = m->indptr.shape[0] - 1;
  if (n < 1 || n >= INT32_MAX) {
    py_fail(state, "InputError", "%s has %zd columns; allowed are 1 to 2147483646", name, n);
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
    py_fail(state, "InputError",
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
