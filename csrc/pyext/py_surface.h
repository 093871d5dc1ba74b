// Triangle surfaces as arguments.
#ifndef RF_PYEXT_PY_SURFACE_H
#define RF_PYEXT_PY_SURFACE_H

#include "mesh/surface.h"
#include "pyext/py_convert.h"

typedef struct py_surface {
  py_in vertices, triangles;
  rf_surface view;  // borrows the arrays
} py_surface;

// Converts and checks vertices (v, 3) and triangles (t, 3), neither empty: 0, or -1 with an
// exception set.  Release in either case.
int py_in_surface(py_state *state, py_surface *in, PyObject *vertices, PyObject *triangles);
// Parses (vertices, triangles, ..., progress, threads); `format`, with the name of the function,
// and its addresses are those of the arguments in between.  0, or -1 with an exception set. Release
// in either case.
int py_surface_args(py_state *state, PyObject *args, py_surface *in, py_run *run,
                    const char *format, ...);
void py_surface_release(py_surface *in);

#endif
