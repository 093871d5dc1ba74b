// Loads of many samples as arrays: forces at nodes, and patterns times coordinates.
#ifndef RF_PYEXT_PY_LOADS_H
#define RF_PYEXT_PY_LOADS_H

#include "fem/loads.h"
#include "pyext/py_convert.h"

typedef struct py_loads {
  py_in ptr, node, force, patterns, coordinates;
  rf_loads view;
} py_loads;

// Converts a tuple (ptr, node, force, patterns, coordinates) for n nodes: 0, or -1 with an
// exception set.  Release in either case.
int py_in_loads(py_state *state, py_loads *in, PyObject *tuple, npy_intp n);
void py_loads_release(py_loads *in);

#endif
