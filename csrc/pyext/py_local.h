// Gives other rooms' bindings the local compliance inside a _core.LocalCompliance.
#ifndef RF_PYEXT_PY_LOCAL_H
#define RF_PYEXT_PY_LOCAL_H

#include "contact/local.h"
#include "pyext/py_core.h"

// Returns the C struct, valid while `object` lives; NULL with InputTypeError set when `object` is
// not a _core.LocalCompliance.
const rf_contact_local *py_local_get(py_state *state, PyObject *object);

#endif
