// Gives other rooms' bindings the C model inside a _core.Reduced.
#ifndef RF_PYEXT_PY_REDUCED_H
#define RF_PYEXT_PY_REDUCED_H

#include "model/reduced_model.h"
#include "pyext/py_core.h"

// Returns the C model; NULL with InputTypeError set when `object` is not a _core.Reduced.
const rf_reduced *py_reduced_get(py_state *state, PyObject *object);

// Makes a Reduced of a model, taken over also on failure.
PyObject *py_reduced_wrap(py_state *state, rf_reduced *model);

#endif
