// Settings of couplings as arguments of other bindings: dicts by name.
#ifndef RF_PYEXT_PY_COUPLING_H
#define RF_PYEXT_PY_COUPLING_H

#include "pyext/py_core.h"
#include "render/dynamic_coupling.h"

// 0, or -1 with InputTypeError.  Values are not checked.
int py_coupling_in(py_state *state, PyObject *settings, rf_coupling_settings *out);
int py_dynamics_in(py_state *state, PyObject *settings, PyObject *dynamics,
                   rf_dynamic_settings *out);

#endif
