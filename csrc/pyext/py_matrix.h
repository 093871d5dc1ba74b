// Sparse matrices as arguments: symmetric ones by their lower triangle, and any for a product.
#ifndef RF_PYEXT_PY_MATRIX_H
#define RF_PYEXT_PY_MATRIX_H

#include "linalg/csc.h"
#include "pyext/py_convert.h"

typedef struct py_matrix {
  py_in data, indices, indptr;
  rf_csc view;  // of these arrays
} py_matrix;

// From a tuple (data, indices, indptr), checked in full: 0, or -1 with an exception set.  Release
// in either case.
int py_in_matrix(py_state *state, py_matrix *m, PyObject *tuple, const char *name);
void py_matrix_release(py_matrix *m);

#endif
