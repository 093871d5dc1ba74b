// Implicit Newmark simulations of reduced models, copied out of and into _core.NewmarkReduced.
#ifndef RF_PYEXT_PY_SIMULATION_H
#define RF_PYEXT_PY_SIMULATION_H

#include "integrator/newmark.h"
#include "pyext/py_core.h"

// A copy in the same state, to be freed by rf_newmark_free, of which the model must be kept alive
// by way of `object`; NULL for None.  0, or -1 with an exception.
int py_newmark_copy(py_state *state, PyObject *object, rf_newmark **out);
// The state of `from`, a simulation of the same model.
int py_newmark_restore(py_state *state, PyObject *object, const rf_newmark *from);

#endif
