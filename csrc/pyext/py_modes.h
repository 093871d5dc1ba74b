// Conversion of linear modes to arrays, for the rooms that return them.
#ifndef RF_PYEXT_PY_MODES_H
#define RF_PYEXT_PY_MODES_H

#include "fem/fem.h"
#include "pyext/py_core.h"

// Makes arrays for `rigid` zero and k other eigenvalues, and their frequencies; 0, or -1 with an
// exception set, also if the solid has fewer than k modes.  The caller owns the arrays in any case.
int py_modes_arrays(py_state *state, const rf_solid *solid, int rigid, int k, PyObject **values,
                    PyObject **frequencies);

#endif
