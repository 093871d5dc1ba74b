// The C contact inside a _core.Contact.
#ifndef RF_PYEXT_PY_CONTACT_H
#define RF_PYEXT_PY_CONTACT_H

#include "contact/penalty.h"
#include "pyext/py_core.h"

// NULL with InputTypeError set when `object` is no Contact.  What it was made with may be read
// without its lock.
const rf_penalty *py_contact_get(py_state *state, PyObject *object);
// Numbers of n cycles as arrays, with what is there of them already: takes over `field_reduced` and
// `contacts` no more than `reduced`.
PyObject *py_contact_results(npy_intp n, const rf_penalty_result *found, PyObject *reduced,
                             PyObject *field_reduced, PyObject *contacts);

#endif
