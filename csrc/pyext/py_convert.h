// The one room where Python objects become C data and back.
//
// In:  py_in_*  take an object and the argument's name, convert lists and other
//      numeric dtypes, and refuse wrong shapes, NaN and out-of-range values with a
//      message naming argument, index, value and what is allowed.  The data stays
//      valid and as it was checked until py_in_release: an array that others can write to
//      is copied, one that is read-only is used in place.
// Out: fresh arrays, or read-only views whose base owns the C memory.
#ifndef RF_PYEXT_PY_CONVERT_H
#define RF_PYEXT_PY_CONVERT_H

#include "pyext/py_core.h"

typedef struct py_in {
  PyArrayObject *array;  // owned; NULL when empty
  void *data;
  npy_intp shape[4];
  int ndim;
} py_in;

#define PY_ANY (-1)  // any length along this axis up to INT32_MAX

// float64, C order, exactly `ndim` axes with lengths `shape` (PY_ANY: free), finite.
// 0 on success, -1 with an exception set.
int py_in_f64(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape);

// Points (any, 3) [m] likewise, coordinates below 1e150, whose squares are finite.
int py_in_points(py_in *in, PyObject *object, const char *name);

// float32 likewise, for large arrays: not checked to be finite.
int py_in_f32(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape);

// uint8 likewise, from nothing but uint8.
int py_in_u8(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape);

// A field over n nodes: (n, 3), or flat (3n,).
int py_in_field(py_in *in, PyObject *object, const char *name, npy_intp n);

// A stack of fields: (k, n, 3); k is read from in->shape[0].
int py_in_fields(py_in *in, PyObject *object, const char *name, npy_intp n);

// int32 with every value in [low, high]; floats with integral values are refused.
int py_in_i32(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape,
              int32_t low, int32_t high);
// uint32 likewise, with any value.
int py_in_u32(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape);

void py_in_release(py_in *in);

// New arrays (zeroed); NULL with an exception set on failure.
PyObject *py_new_f64(int ndim, const npy_intp *shape);
PyObject *py_new_i32(int ndim, const npy_intp *shape);

// Read-only view on memory owned by `owner` (its reference is taken).
PyObject *py_view_f64(PyObject *owner, const double *data, int ndim, const npy_intp *shape);
PyObject *py_view_f32(PyObject *owner, const float *data, int ndim, const npy_intp *shape);
PyObject *py_view_i32(PyObject *owner, const int32_t *data, int ndim, const npy_intp *shape);

static inline double *py_f64(PyObject *array) { return PyArray_DATA((PyArrayObject *)array); }
static inline int32_t *py_i32(PyObject *array) { return PyArray_DATA((PyArrayObject *)array); }

#endif
