// The C model inside a _core.Reduced.
#ifndef RF_PYEXT_PY_REDUCED_H
#define RF_PYEXT_PY_REDUCED_H

#include "model/reduced_model.h"
#include "pyext/py_core.h"

// NULL with InputTypeError set when `object` is no Reduced.
const rf_reduced *py_reduced_get(py_state *state, PyObject *object);

// A new Reduced; takes the model over, also on failure.
PyObject *py_reduced_wrap(py_state *state, rf_reduced *model);

#endif
