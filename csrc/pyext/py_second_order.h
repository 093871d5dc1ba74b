// Gives other bindings the matrices inside a _core.SecondOrder.
#ifndef RF_PYEXT_PY_SECOND_ORDER_H
#define RF_PYEXT_PY_SECOND_ORDER_H

#include "linalg/csc.h"
#include "pyext/py_core.h"

typedef struct py_matrices {
  rf_csc mass, stiffness, damping;  // lower triangles; damping without columns: none
} py_matrices;

// Borrowed: valid while `object` lives.  NULL with InputTypeError set when it is no SecondOrder.
const py_matrices *py_matrices_get(py_state *state, PyObject *object);

#endif
