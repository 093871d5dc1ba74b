// Converts Python objects to C data and back, for all bindings.
//
// In:  py_in_* take an object and the argument's name, convert lists and other numeric dtypes, and
//      reject wrong shapes, NaN and out-of-range values with a message naming argument, index,
//      value and what is allowed.  0 on success, -1 with an exception set.  The data is valid and
//      constant until py_in_release: an array that other code can write to is copied, a read-only
//      one is used in place.
// Out: new arrays, or read-only views whose base owns the C memory.
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

// Converts to float64, C order, exactly `ndim` axes with lengths `shape` (PY_ANY: free), finite.
int py_in_f64(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape);

// Converts points (any, 3) [m] likewise, coordinates up to 1e150, so that squares are finite.
int py_in_points(py_in *in, PyObject *object, const char *name);

// Converts to float32 likewise, for large arrays; does not check that values are finite.
int py_in_f32(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape);

// Takes uint8 likewise; rejects other dtypes.
int py_in_u8(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape);

// Converts a field over n nodes: (n, 3), or flat (3n,).
int py_in_field(py_in *in, PyObject *object, const char *name, npy_intp n);

// Converts a stack of fields (k, n, 3); k is in->shape[0].
int py_in_fields(py_in *in, PyObject *object, const char *name, npy_intp n);

// Converts integers to int32, every value in [low, high]; rejects floats, even with integral
// values.
int py_in_i32(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape,
              int32_t low, int32_t high);
// Converts integers to uint32 likewise, in the range of uint32.
int py_in_u32(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape);

void py_in_release(py_in *in);
// Releases several.
#define PY_IN_RELEASE(...) \
  py_in_release_all(sizeof((py_in *[]){__VA_ARGS__}) / sizeof(py_in *), (py_in *[]){__VA_ARGS__})
void py_in_release_all(size_t count, py_in *const *in);

// Return new zeroed arrays; NULL with an exception set on failure.
PyObject *py_new_f64(int ndim, const npy_intp *shape);
PyObject *py_new_i32(int ndim, const npy_intp *shape);

// Return read-only views of memory owned by `owner`, to which each keeps a reference.
PyObject *py_view_f64(PyObject *owner, const double *data, int ndim, const npy_intp *shape);
PyObject *py_view_f32(PyObject *owner, const float *data, int ndim, const npy_intp *shape);
PyObject *py_view_i32(PyObject *owner, const int32_t *data, int ndim, const npy_intp *shape);

// Computes the reduced force of `count` forces at carriers of a model; `to` is zero before.
typedef void (*py_push)(const void *model, int32_t count, const int32_t *carrier,
                        const double *force, double *to);
// Parses (carriers, forces), int32 (k,) below `carriers` and (k, 3), and returns their reduced
// force (r,).
PyObject *py_project(PyObject *args, const void *model, const char *name, const char *force_name,
                     int32_t carriers, int32_t r, py_push push);

static inline double *py_f64(PyObject *array) { return PyArray_DATA((PyArrayObject *)array); }
static inline int32_t *py_i32(PyObject *array) { return PyArray_DATA((PyArrayObject *)array); }

#endif
