// Gives other rooms' bindings the C voxmap inside a _core.Voxmap.
#ifndef RF_PYEXT_PY_VOXMAP_H
#define RF_PYEXT_PY_VOXMAP_H

#include "pyext/py_core.h"
#include "sdf/voxmap.h"

// Returns the C voxmap, valid while `object` lives; NULL with InputTypeError set when `object` is
// not a _core.Voxmap.
const rf_voxmap *py_voxmap_get(py_state *state, PyObject *object);

#endif
