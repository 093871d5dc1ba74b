// Conversion of linear modes to arrays, for the rooms that return them.
#ifndef RF_PYEXT_PY_MODES_H
#define RF_PYEXT_PY_MODES_H

#include "fem/fem.h"
#include "pyext/py_core.h"

// Arrays for k eigenvalues, after `rigid` zero ones, and their frequencies; 0, or -1 with an
// exception set where the solid has no k modes.  What is made is the caller's in any case.
int py_modes_arrays(py_state *state, const rf_solid *solid, int rigid, int k, PyObject **values,
                    PyObject **frequencies);

#endif
