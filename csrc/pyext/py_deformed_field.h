// Gives other rooms' bindings the C field inside a _core.DeformedField.
#ifndef RF_PYEXT_PY_DEFORMED_FIELD_H
#define RF_PYEXT_PY_DEFORMED_FIELD_H

#include "deform/field.h"
#include "pyext/py_core.h"

// Returns the C field, valid while `object` lives; NULL with InputTypeError set when `object` is
// not a _core.DeformedField.
const rf_deformed_field *py_deformed_field_get(py_state *state, PyObject *object);

#endif
