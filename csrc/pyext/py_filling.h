// Samples of a distance field that workers elsewhere compute.
#ifndef RF_PYEXT_PY_FILLING_H
#define RF_PYEXT_PY_FILLING_H

#include "pyext/py_core.h"
#include "sdf/build_fill.h"

typedef struct py_filling_call {
  py_state *state;
  PyObject *callable;  // borrowed; gets a _core.Filling, and fills all of its blocks
} py_filling_call;

// An rf_fill_fn; context: py_filling_call.  Called without the GIL, on the caller's thread.
rf_status py_filling_elsewhere(void *context, const rf_grid_filling *f, const rf_run *run,
                               rf_error *err);

#endif
