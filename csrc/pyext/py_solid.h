// Gives other rooms' bindings the C solid inside a _core.Solid.
#ifndef RF_PYEXT_PY_SOLID_H
#define RF_PYEXT_PY_SOLID_H

#include "pyext/py_core.h"

#include "fem/fem.h"

// Returns the C solid, valid while `object` lives; NULL with InputTypeError set when `object` is
// not a _core.Solid.
const rf_solid *py_solid_get(py_state *state, PyObject *object);

// Returns (data, indices, indptr) with new arrays; frees the matrix.
PyObject *py_csc_out(rf_csc *a);

#endif
