// Strain-rate damping as an argument of other bindings.
#ifndef RF_PYEXT_PY_DAMPING_H
#define RF_PYEXT_PY_DAMPING_H

#include "fem/fem.h"
#include "polynomial/damping.h"
#include "pyext/py_convert.h"

// Gets the C object inside a _core.Damping, NULL for None: 0, or -1 with InputTypeError set.
int py_damping_in(py_state *state, PyObject *object, const rf_damping **damping);

// Converts phi and psi of each material of the solid; None: no data.
int py_viscosity_in(py_in *in, PyObject *object, const rf_solid *solid);

#endif
