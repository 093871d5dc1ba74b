#include "pyext/py_convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// conversions happen below any py_state, so the class is looked up by import
static int refuse(const char *error_class, PyObject *text) {
  PyObject *module = text ? PyImport_ImportModule("reducedfem.errors") : NULL;
  PyObject *type = module ? PyObject_GetAttrString(module, error_class) : NULL;
  if (type) PyErr_SetObject(type, text);
  Py_XDECREF(type);
  Py_XDECREF(module);
  Py_XDECREF(text);
  return -1;
}

// "(3, any)" style text of an expected or found shape
static void shape_text(char *to, size_t size, int ndim, const npy_intp *shape) {
  size_t at = 0;
  at += (size_t)snprintf(to + at, size - at, "(");
  for (int i = 0; i < ndim && at + 24 < size; ++i) {
    if (shape[i] == PY_ANY)
      at += (size_t)snprintf(to + at, size - at, "%sany", i ? ", " : "");
    else
      at += (size_t)snprintf(to + at, size - at, "%s%lld", i ? ", " : "", (long long)shape[i]);
  }
  snprintf(to + at, size - at, ndim == 1 ? ",)" : ")");
}

// "[3, 1]" style text of a flat index
static void index_text(char *to, size_t size, int ndim, const npy_intp *shape, npy_intp flat) {
  npy_intp index[4] = {0};
  for (int i = ndim - 1; i >= 0; --i) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  size_t at = 0;
  at += (size_t)snprintf(to + at, size - at, "[");
  for (int i = 0; i < ndim && at + 24 < size; ++i)
    at += (size_t)snprintf(to + at, size - at, "%s%lld", i ? ", " : "", (long long)index[i]);
  snprintf(to + at, size - at, "]");
}

static int refuse_shape(const py_in *in, const char *name, const char *expected) {
  char found[128];
  shape_text(found, sizeof found, in->ndim, in->shape);
  return refuse("InputError",
                PyUnicode_FromFormat("%s must have shape %s, got %s", name, expected, found));
}

// any numeric or boolean array of at most 4 axes, in its own dtype
static PyArrayObject *any_array(PyObject *object, const char *name) {
  PyObject *array = PyArray_FromAny(object, NULL, 0, 0, 0, NULL);
  if (!array) {
    // anything else, such as MemoryError or Ctrl-C, is not about the argument
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
      return NULL;
    PyErr_Clear();
    refuse("InputTypeError",
           PyUnicode_FromFormat("%s must be an array of numbers, got %s which NumPy cannot convert",
                                name, Py_TYPE(object)->tp_name));
    return NULL;
  }
  PyArrayObject *a = (PyArrayObject *)array;
  const int type = PyArray_TYPE(a);
  if (!PyTypeNum_ISINTEGER(type) && !PyTypeNum_ISFLOAT(type) && !PyTypeNum_ISBOOL(type)) {
    refuse("InputTypeError",
           PyUnicode_FromFormat("%s must be an array of real numbers, got dtype %R", name,
                                (PyObject *)PyArray_DESCR(a)));
    Py_DECREF(array);
    return NULL;
  }
  if (PyArray_NDIM(a) > 4) {
    refuse("InputError",
           PyUnicode_FromFormat("%s has %d axes, at most 4 are allowed", name, PyArray_NDIM(a)));
    Py_DECREF(array);
    return NULL;
  }
  return a;
}

// takes over `array` (of the final dtype, C order)
static void hold(py_in *in, PyArrayObject *array) {
  in->array = array;
  in->data = PyArray_DATA(array);
  in->ndim = PyArray_NDIM(array);
  for (int i = 0; i < in->ndim; ++i) in->shape[i] = PyArray_DIM(array, i);
}

static int load_f64(py_in *in, PyObject *object, const char *name) {
  memset(in, 0, sizeof *in);
  PyArrayObject *found = any_array(object, name);
  if (!found) return -1;
  PyObject *array =
      PyArray_FROM_OTF((PyObject *)found, NPY_FLOAT64, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_FORCECAST);
  Py_DECREF(found);
  if (!array) return -1;
  hold(in, (PyArrayObject *)array);
  return 0;
}

static int check_finite(py_in *in, const char *name) {
  const double *x = in->data;
  const npy_intp count = PyArray_SIZE(in->array);
  for (npy_intp i = 0; i < count; ++i) {
    if (isfinite(x[i])) continue;
    char where[128], value[32];
    index_text(where, sizeof where, in->ndim, in->shape, i);
    snprintf(value, sizeof value, "%g", x[i]);
    return refuse("InputError", PyUnicode_FromFormat("%s%s is %s; every value must be finite", name,
                                                     where, value));
  }
  return 0;
}

static int shape_fits(const py_in *in, int ndim, const npy_intp *shape) {
  if (in->ndim != ndim) return 0;
  for (int i = 0; i < ndim; ++i)
    if (shape[i] != PY_ANY && in->shape[i] != shape[i]) return 0;
  return 1;
}

int py_in_f64(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape) {
  if (load_f64(in, object, name) < 0) return -1;
  int ok = 0;
  if (!shape_fits(in, ndim, shape)) {
    char expected[128];
    shape_text(expected, sizeof expected, ndim, shape);
    ok = refuse_shape(in, name, expected);
  } else {
    ok = check_finite(in, name);
  }
  if (ok < 0) py_in_release(in);
  return ok;
}

int py_in_field(py_in *in, PyObject *object, const char *name, npy_intp n) {
  if (load_f64(in, object, name) < 0) return -1;
  const npy_intp grid[2] = {n, 3}, flat[1] = {3 * n};
  int ok = 0;
  if (!shape_fits(in, 2, grid) && !shape_fits(in, 1, flat)) {
    char expected[160];
    snprintf(expected, sizeof expected, "(%lld, 3) or (%lld,)", (long long)n, (long long)(3 * n));
    ok = refuse_shape(in, name, expected);
  } else {
    ok = check_finite(in, name);
  }
  if (ok < 0) py_in_release(in);
  return ok;
}

int py_in_fields(py_in *in, PyObject *object, const char *name, npy_intp n) {
  const npy_intp shape[3] = {PY_ANY, n, 3};
  return py_in_f64(in, object, name, 3, shape);
}

int py_in_i32(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape,
              int32_t low, int32_t high) {
  memset(in, 0, sizeof *in);
  PyArrayObject *found = any_array(object, name);
  if (!found) return -1;
  // an empty list arrives as float64: its dtype means nothing
  if (!PyTypeNum_ISINTEGER(PyArray_TYPE(found)) && PyArray_SIZE(found) > 0) {
    const int bad =
        refuse("InputTypeError", PyUnicode_FromFormat("%s must hold integers, got dtype %R", name,
                                                      (PyObject *)PyArray_DESCR(found)));
    Py_DECREF(found);
    return bad;
  }
  PyObject *wide =
      PyArray_FROM_OTF((PyObject *)found, NPY_INT64, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_FORCECAST);
  Py_DECREF(found);
  if (!wide) return -1;
  hold(in, (PyArrayObject *)wide);

  int ok = 0;
  if (!shape_fits(in, ndim, shape)) {
    char expected[128];
    shape_text(expected, sizeof expected, ndim, shape);
    ok = refuse_shape(in, name, expected);
  }
  const int64_t *x = in->data;
  const npy_intp count = PyArray_SIZE(in->array);
  for (npy_intp i = 0; ok == 0 && i < count; ++i) {
    if (x[i] >= low && x[i] <= high) continue;
    char where[128];
    index_text(where, sizeof where, in->ndim, in->shape, i);
    ok = refuse("InputError", PyUnicode_FromFormat("%s%s is %lld; allowed are %d to %d", name,
                                                   where, (long long)x[i], (int)low, (int)high));
  }
  if (ok == 0) {
    PyObject *narrow = PyArray_FROM_OTF((PyObject *)in->array, NPY_INT32,
                                        NPY_ARRAY_IN_ARRAY | NPY_ARRAY_FORCECAST);
    Py_DECREF(in->array);
    in->array = NULL;
    if (!narrow) return -1;
    hold(in, (PyArrayObject *)narrow);
  } else {
    py_in_release(in);
  }
  return ok;
}

void py_in_release(py_in *in) {
  Py_CLEAR(in->array);
  in->data = NULL;
}

PyObject *py_new_f64(int ndim, const npy_intp *shape) {
  return PyArray_ZEROS(ndim, (npy_intp *)shape, NPY_FLOAT64, 0);
}

PyObject *py_new_i32(int ndim, const npy_intp *shape) {
  return PyArray_ZEROS(ndim, (npy_intp *)shape, NPY_INT32, 0);
}

static PyObject *view(PyObject *owner, void *data, int type, int ndim, const npy_intp *shape) {
  PyObject *a = PyArray_SimpleNewFromData(ndim, (npy_intp *)shape, type, data);
  if (!a) return NULL;
  PyArray_CLEARFLAGS((PyArrayObject *)a, NPY_ARRAY_WRITEABLE);
  Py_INCREF(owner);
  if (PyArray_SetBaseObject((PyArrayObject *)a, owner) < 0) Py_CLEAR(a);
  return a;
}

PyObject *py_view_f64(PyObject *owner, double *data, int ndim, const npy_intp *shape) {
  return view(owner, data, NPY_FLOAT64, ndim, shape);
}

PyObject *py_view_i32(PyObject *owner, int32_t *data, int ndim, const npy_intp *shape) {
  return view(owner, data, NPY_INT32, ndim, shape);
}
