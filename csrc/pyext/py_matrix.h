// Sparse matrices as arguments: symmetric ones by their lower triangle, and any for a product.
#ifndef RF_PYEXT_PY_MATRIX_H
#define RF_PYEXT_PY_MATRIX_H

#include "linalg/csc.h"
#include "linalg/ordering.h"
#include "pyext/py_convert.h"

typedef struct py_matrix {
  py_in data, indices, indptr;
  rf_csc view;  // borrows the arrays
} py_matrix;

// Converts and checks a tuple (data, indices, indptr): 0, or -1 with an exception set.  Release in
// either case.
int py_in_matrix(py_state *state, py_matrix *m, PyObject *tuple, const char *name);
void py_matrix_release(py_matrix *m);

// Places of n unknowns, as an argument.
typedef struct py_places {
  py_in point;
  rf_places view;         // borrows the array
  const rf_places *used;  // NULL: none were given
} py_places;

// Converts and checks points (n, 3), or (n / 3, 3) for three unknowns each: 0, or -1 with an
// exception set.  None and NULL are allowed.  Release `point` in either case.
int py_in_places(py_state *state, py_places *places, PyObject *points, int32_t n);

#endif
