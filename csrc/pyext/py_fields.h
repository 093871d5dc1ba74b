// Common arguments of functions on fields over a solid.
#ifndef RF_PYEXT_PY_FIELDS_H
#define RF_PYEXT_PY_FIELDS_H

#include "fem/fem.h"
#include "pyext/py_convert.h"

typedef struct py_fields {
  const rf_solid *solid;  // borrowed
  py_run run;
  py_in in;            // (count, n, 3)
  const double *data;  // borrowed from `in`
  int32_t count;
} py_fields;

// Converts the solid, the fields with their name, the progress callable and the threads: 0, or -1
// with an exception set and nothing to release.
int py_fields_in(py_state *state, py_fields *f, PyObject *solid, PyObject *fields, const char *name,
                 PyObject *progress, int threads);
// Converts likewise the vectors of a basis, 1 to RF_POLYNOMIAL_MAX_R.
int py_basis_in(py_state *state, py_fields *f, PyObject *solid, PyObject *basis, PyObject *progress,
                int threads);
void py_fields_release(py_fields *f);

#endif
