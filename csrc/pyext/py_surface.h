// Triangle surfaces as arguments.
#ifndef RF_PYEXT_PY_SURFACE_H
#define RF_PYEXT_PY_SURFACE_H

#include "mesh/surface.h"
#include "pyext/py_convert.h"

typedef struct py_surface {
  py_in vertices, triangles;
  rf_surface view;  // borrows the arrays
  // arguments of a call, borrowed
  PyObject *vertices_arg, *triangles_arg, *progress_arg;
  int threads_arg;
} py_surface;

// Converts and checks vertices (v, 3) and triangles (t, 3), neither empty: 0, or -1 with an
// exception set.  Release in either case.
int py_in_surface(py_state *state, py_surface *in, PyObject *vertices, PyObject *triangles);
// Addresses for PyArg_ParseTuple of the arguments (vertices, triangles), "OO", and (progress,
// threads), "Oi".
#define PY_SURFACE_ARGS(in) &(in).vertices_arg, &(in).triangles_arg
#define PY_RUN_ARGS(in) &(in).progress_arg, &(in).threads_arg
// Takes parsed arguments: 0, or -1 with an exception set.  Release in either case.
int py_surface_take(py_state *state, py_surface *in, py_run *run);
void py_surface_release(py_surface *in);

#endif
