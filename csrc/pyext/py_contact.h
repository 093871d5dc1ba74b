// Gives other rooms' bindings the C contact inside a _core.Contact.
#ifndef RF_PYEXT_PY_CONTACT_H
#define RF_PYEXT_PY_CONTACT_H

#include "contact/contact.h"
#include "pyext/py_core.h"

// Returns the C contact; NULL with InputTypeError set when `object` is not a _core.Contact.  Its
// constant settings may be read without its lock.
const rf_contact *py_contact_get(py_state *state, PyObject *object);
// Returns the local compliance inside a _core.LocalCompliance, likewise.
const rf_contact_local *py_local_get(py_state *state, PyObject *object);
// Returns the tuple of results of n cycles as arrays.  `reduced`, `field_reduced` and `contacts`
// are ready objects; their references stay the caller's.
PyObject *py_contact_results(npy_intp n, const rf_contact_result *found, PyObject *reduced,
                             PyObject *field_reduced, PyObject *contacts);

#endif
