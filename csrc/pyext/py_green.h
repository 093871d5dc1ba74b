// Gives other rooms' bindings the Green's functions inside a _core.Green.
#ifndef RF_PYEXT_PY_GREEN_H
#define RF_PYEXT_PY_GREEN_H

#include "green/green.h"
#include "pyext/py_core.h"

// Returns the C struct, valid while `object` lives; NULL with InputTypeError set when `object` is
// not a _core.Green.
const rf_green *py_green_get(py_state *state, PyObject *object);

#endif
