// Gives other bindings the matrices inside a _core.SecondOrder.
#ifndef RF_PYEXT_PY_SECOND_ORDER_H
#define RF_PYEXT_PY_SECOND_ORDER_H

#include "dynamics/system.h"
#include "pyext/py_core.h"

// Borrowed: valid while `object` lives.  NULL with InputTypeError set when it is no SecondOrder.
const rf_matrices *py_matrices_get(py_state *state, PyObject *object);

#endif
