// Gives other rooms' bindings the C model inside a _core.Projected.
#ifndef RF_PYEXT_PY_PROJECTED_H
#define RF_PYEXT_PY_PROJECTED_H

#include "model/projected.h"
#include "pyext/py_core.h"

// Returns the C model; NULL with InputTypeError set when `object` is not a _core.Projected.
const rf_projected *py_projected_get(py_state *state, PyObject *object);

#endif
