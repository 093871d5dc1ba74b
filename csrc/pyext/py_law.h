#ifndef RF_PYEXT_PY_LAW_H
#define RF_PYEXT_PY_LAW_H

#include "fem/fem.h"
#include "pyext/py_core.h"

// Converts a sequence of (law, parameters, density) to materials, which rf_free releases: 0, or -1
// with an exception set.
int py_materials_in(py_state *state, PyObject *object, rf_material **out, int32_t *count);

#endif
