// Gives other rooms' bindings the C solid inside a _core.Solid.
#ifndef RF_PYEXT_PY_SOLID_H
#define RF_PYEXT_PY_SOLID_H

#include "pyext/py_core.h"

#include "fem/fem.h"
#include "pyext/py_convert.h"

// Returns the C solid, valid while `object` lives; NULL with InputTypeError set when `object` is
// not a _core.Solid.
const rf_solid *py_solid_get(py_state *state, PyObject *object);

// Converts displacements of a solid, one (n, 3) or a stack (k, n, 3), and rejects those in which
// constrained nodes do not follow their masters: 0, or -1 with an exception set.
int py_in_motion(py_state *state, py_in *in, PyObject *object, const char *name,
                 const rf_solid *solid);
int py_in_motions(py_state *state, py_in *in, PyObject *object, const char *name,
                  const rf_solid *solid);

// Returns (data, indices, indptr) with new arrays; frees the matrix.
PyObject *py_csc_out(rf_csc *a);

#endif
