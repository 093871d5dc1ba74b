// Gives other rooms' bindings the C field inside a _core.Field.
#ifndef RF_PYEXT_PY_FIELD_H
#define RF_PYEXT_PY_FIELD_H

#include "pyext/py_core.h"
#include "sdf/field.h"

// Returns the C field, valid while `object` lives; NULL with InputTypeError set when `object` is
// not a _core.Field.
const rf_field *py_field_get(py_state *state, PyObject *object);

#endif
