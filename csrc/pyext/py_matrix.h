// Sparse matrices as arguments: symmetric ones by their lower triangle, and any for a product.
#ifndef RF_PYEXT_PY_MATRIX_H
#define RF_PYEXT_PY_MATRIX_H

#include "linalg/csc.h"
#include "pyext/py_convert.h"

typedef struct py_matrix {
  py_in data, indices, indptr;
  rf_csc view;  // borrows the arrays
} py_matrix;

// Converts and checks a tuple (data, indices, indptr): 0, or -1 with an exception set.  Release in
// either case.
int py_in_matrix(py_state *state, py_matrix *m, PyObject *tuple, const char *name);
void py_matrix_release(py_matrix *m);

#endif
