// The C contact inside a _core.Contact.
#ifndef RF_PYEXT_PY_CONTACT_H
#define RF_PYEXT_PY_CONTACT_H

#include "contact/penalty.h"
#include "pyext/py_core.h"

// NULL with InputTypeError set when `object` is no Contact.  What it was made with may be read
// without its lock.
const rf_penalty *py_contact_get(py_state *state, PyObject *object);

#endif
