#include "pyext/py_convert.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Raises an error of a class; converters get no py_state, so the class is imported by name.
static int refuse(py_error error, PyObject *text) {
  PyObject *module = text ? PyImport_ImportModule("reducedfem.errors") : NULL;
  PyObject *type = module ? PyObject_GetAttrString(module, py_error_name(error)) : NULL;
  if (type) PyErr_SetObject(type, text);
  PY_XDECREF(type, module, text);
  return -1;
}

// Writes an expected or found shape like "(3, any)".
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

// Writes a flat index like "[3, 1]".
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

static int refuse_shape(PyArrayObject *a, const char *name, const char *expected) {
  char found[128];
  shape_text(found, sizeof found, PyArray_NDIM(a), PyArray_DIMS(a));
  return refuse(PY_INPUT_ERROR,
                PyUnicode_FromFormat("%s must have shape %s, got %s", name, expected, found));
}

static int shape_fits(PyArrayObject *a, int ndim, const npy_intp *shape) {
  if (PyArray_NDIM(a) != ndim) return 0;
  for (int i = 0; i < ndim; ++i)
    if (shape[i] != PY_ANY && PyArray_DIM(a, i) != shape[i]) return 0;
  return 1;
}

// Checks the shape before conversion, so that a rejected array costs no memory.
static int check_shape(PyArrayObject *a, const char *name, int ndim, const npy_intp *shape) {
  if (!shape_fits(a, ndim, shape)) {
    char expected[128];
    shape_text(expected, sizeof expected, ndim, shape);
    return refuse_shape(a, name, expected);
  }
  for (int i = 0; i < ndim; ++i)
    if (shape[i] == PY_ANY && PyArray_DIM(a, i) > INT32_MAX)
      return refuse(PY_INPUT_ERROR,
                    PyUnicode_FromFormat("%s has length %zd along axis %d; at most %d is allowed",
                                         name, PyArray_DIM(a, i), i, (int)INT32_MAX));
  return 0;
}

// Returns the type name of the first non-numeric element of an array; NULL: none found.
static const char *first_odd(PyArrayObject *a) {
  if (PyArray_TYPE(a) == NPY_UNICODE) return "str";
  if (PyArray_TYPE(a) == NPY_STRING) return "bytes";
  if (PyArray_TYPE(a) != NPY_OBJECT) return NULL;
  PyArrayObject *flat = (PyArrayObject *)PyArray_Flatten(a, NPY_CORDER);
  if (!flat) {
    PyErr_Clear();
    return NULL;
  }
  PyObject *const *item = PyArray_DATA(flat);
  const npy_intp count = PyArray_SIZE(flat);
  const char *odd = NULL;
  // the name remains valid: `a` keeps the item, the item its type
  for (npy_intp i = 0; i < count && !odd; ++i)
    if (item[i] && (!PyNumber_Check(item[i]) || PyArray_Check(item[i])))
      odd = Py_TYPE(item[i])->tp_name;
  Py_DECREF(flat);
  return odd;
}

// Raises an error that names the argument, what it must hold (`wanted`) and what was passed.
static int refuse_contents(const char *name, const char *wanted, PyObject *object,
                           PyArrayObject *a) {
  const char *passed = Py_TYPE(object)->tp_name;
  const char *odd = first_odd(a);
  PyObject *text;
  if (PyArray_NDIM(a) == 0 && !PyArray_Check(object))
    text = PyUnicode_FromFormat("%s must be an array of %s, got %s", name, wanted, passed);
  else if (odd)
    text = PyUnicode_FromFormat("%s must be an array of %s, got %s that holds %s", name, wanted,
                                passed, odd);
  else
    text = PyUnicode_FromFormat("%s must be an array of %s, got %s of dtype %S", name, wanted,
                                passed, (PyObject *)PyArray_DESCR(a));
  return refuse(PY_INPUT_TYPE_ERROR, text);
}

// Returns a numeric or boolean array of at most 4 axes, in its own dtype.
static PyArrayObject *any_array(PyObject *object, const char *name, const char *wanted) {
  PyObject *array = PyArray_FromAny(object, NULL, 0, 0, 0, NULL);
  if (!array) {
    // other exceptions, such as MemoryError or Ctrl-C, do not concern the argument
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
      return NULL;
    PyErr_Clear();
    refuse(PY_INPUT_TYPE_ERROR,
           PyUnicode_FromFormat("%s must be an array of %s, got %s which NumPy cannot convert",
                                name, wanted, Py_TYPE(object)->tp_name));
    return NULL;
  }
  PyArrayObject *a = (PyArrayObject *)array;
  const int type = PyArray_TYPE(a);
  int ok = 0;
  if (!PyTypeNum_ISINTEGER(type) && !PyTypeNum_ISFLOAT(type) && !PyTypeNum_ISBOOL(type))
    ok = refuse_contents(name, wanted, object, a);
  else if (PyArray_NDIM(a) > 4)
    ok = refuse(PY_INPUT_ERROR, PyUnicode_FromFormat("%s has %d axes, at most 4 are allowed", name,
                                                     PyArray_NDIM(a)));
  if (ok < 0) Py_CLEAR(a);
  return a;
}

// Returns true if other code can write to the array: checked values must not change while C
// computes without the GIL.
static bool is_shared(PyArrayObject *a) {
  if (Py_REFCNT(a) == 1 && PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA)) return false;
  while (!PyArray_ISWRITEABLE(a)) {
    PyObject *base = PyArray_BASE(a);
    if (!base || !PyArray_Check(base)) return false;
    a = (PyArrayObject *)base;
  }
  return true;
}

// Stores `found` (reference stolen) as a dtype, in C order; copies it if other code could write to
// it.
static int hold(py_in *in, PyArrayObject *found, int type) {
  const int copy = is_shared(found) ? NPY_ARRAY_ENSURECOPY : 0;
  PyObject *array =
      PyArray_FROM_OTF((PyObject *)found, type, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_FORCECAST | copy);
  Py_DECREF(found);
  if (!array) return -1;
  in->array = (PyArrayObject *)array;
  in->data = PyArray_DATA(in->array);
  in->ndim = PyArray_NDIM(in->array);
  for (int i = 0; i < in->ndim; ++i) in->shape[i] = PyArray_DIM(in->array, i);
  return 0;
}

// Converts real numbers of a shape, unchecked.
static int load(py_in *in, PyObject *object, const char *name, int type, int ndim,
                const npy_intp *shape) {
  memset(in, 0, sizeof *in);
  PyArrayObject *found = any_array(object, name, "real numbers");
  if (!found) return -1;
  if (check_shape(found, name, ndim, shape) < 0) {
    Py_DECREF(found);
    return -1;
  }
  return hold(in, found, type);
}

// Checks that magnitudes are at most `most`; releases the array on failure.
static int check_size(py_in *in, const char *name, double most) {
  const double *x = in->data;
  const npy_intp count = PyArray_SIZE(in->array);
  for (npy_intp i = 0; i < count; ++i) {
    if (fabs(x[i]) <= most) continue;
    char where[128], value[32];
    index_text(where, sizeof where, in->ndim, in->shape, i);
    snprintf(value, sizeof value, "%g", x[i]);
    const char *allowed =
        isfinite(x[i]) ? "coordinates must be below 1e150 m" : "every value must be finite";
    py_in_release(in);
    return refuse(PY_INPUT_ERROR,
                  PyUnicode_FromFormat("%s%s is %s; %s", name, where, value, allowed));
  }
  return 0;
}

static int check_finite(py_in *in, const char *name) { return check_size(in, name, DBL_MAX); }

int py_in_f64(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape) {
  if (load(in, object, name, NPY_FLOAT64, ndim, shape) < 0) return -1;
  return check_finite(in, name);
}

int py_in_points(py_in *in, PyObject *object, const char *name) {
  if (load(in, object, name, NPY_FLOAT64, 2, (npy_intp[]){PY_ANY, 3}) < 0) return -1;
  return check_size(in, name, 1e150);
}

int py_in_f32(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape) {
  return load(in, object, name, NPY_FLOAT32, ndim, shape);
}

int py_in_u8(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape) {
  memset(in, 0, sizeof *in);
  if (PyArray_Check(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_UINT8)
    return load(in, object, name, NPY_UINT8, ndim, shape);
  return refuse(PY_INPUT_TYPE_ERROR, PyUnicode_FromFormat("%s must be an array of uint8", name));
}

int py_in_field(py_in *in, PyObject *object, const char *name, npy_intp n) {
  const npy_intp grid[2] = {n, 3}, flat[1] = {3 * n};
  memset(in, 0, sizeof *in);
  PyArrayObject *found = any_array(object, name, "real numbers");
  if (!found) return -1;
  if (!shape_fits(found, 2, grid) && !shape_fits(found, 1, flat)) {
    char expected[160];
    snprintf(expected, sizeof expected, "(%lld, 3) or (%lld,)", (long long)n, (long long)(3 * n));
    const int bad = refuse_shape(found, name, expected);
    Py_DECREF(found);
    return bad;
  }
  if (hold(in, found, NPY_FLOAT64) < 0) return -1;
  return check_finite(in, name);
}

int py_in_fields(py_in *in, PyObject *object, const char *name, npy_intp n) {
  const npy_intp shape[3] = {PY_ANY, n, 3};
  return py_in_f64(in, object, name, 3, shape);
}

static int check_integers(PyArrayObject *a, PyObject *object, const char *name) {
  // an empty list arrives as float64: its dtype means nothing
  if (PyTypeNum_ISINTEGER(PyArray_TYPE(a)) || PyArray_SIZE(a) == 0) return 0;
  return refuse(PY_INPUT_TYPE_ERROR,
                PyUnicode_FromFormat("%s must hold integers, got %s of dtype %S", name,
                                     Py_TYPE(object)->tp_name, PyArray_DESCR(a)));
}

// Converts to int64; an unsigned value above its range becomes negative.
static int load_i64(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape,
                    int *is_unsigned) {
  memset(in, 0, sizeof *in);
  PyArrayObject *found = any_array(object, name, "integers");
  if (!found) return -1;
  *is_unsigned = PyTypeNum_ISUNSIGNED(PyArray_TYPE(found));
  if (check_integers(found, object, name) < 0 || check_shape(found, name, ndim, shape) < 0) {
    Py_DECREF(found);
    return -1;
  }
  return hold(in, found, NPY_INT64);
}

// Checks the range of all values; releases the array on failure.
static int check_range(py_in *in, const char *name, int is_unsigned, int64_t low, int64_t high) {
  const int64_t *x = in->data;
  const npy_intp count = PyArray_SIZE(in->array);
  for (npy_intp i = 0; i < count; ++i) {
    const int wrapped = is_unsigned && x[i] < 0;
    if (x[i] >= low && x[i] <= high && !wrapped) continue;
    char where[128], value[32];
    index_text(where, sizeof where, in->ndim, in->shape, i);
    snprintf(value, sizeof value, wrapped ? "%llu" : "%lld", (long long)x[i]);
    py_in_release(in);
    return refuse(PY_INPUT_ERROR,
                  PyUnicode_FromFormat("%s%s is %s; allowed are %lld to %lld", name, where, value,
                                       (long long)low, (long long)high));
  }
  return 0;
}

static int narrowed(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape,
                    int64_t low, int64_t high, int type) {
  int is_unsigned = 0;
  if (load_i64(in, object, name, ndim, shape, &is_unsigned) < 0 ||
      check_range(in, name, is_unsigned, low, high) < 0)
    return -1;
  PyArrayObject *wide = in->array;
  in->array = NULL;
  return hold(in, wide, type);
}

int py_in_i32(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape,
              int32_t low, int32_t high) {
  return narrowed(in, object, name, ndim, shape, low, high, NPY_INT32);
}

int py_in_u32(py_in *in, PyObject *object, const char *name, int ndim, const npy_intp *shape) {
  return narrowed(in, object, name, ndim, shape, 0, UINT32_MAX, NPY_UINT32);
}

void py_in_release(py_in *in) {
  Py_CLEAR(in->array);
  in->data = NULL;
}

void py_in_release_all(size_t count, py_in *const *in) {
  for (size_t i = 0; i < count; ++i) py_in_release(in[i]);
}

PyObject *py_new_f64(int ndim, const npy_intp *shape) {
  return PyArray_ZEROS(ndim, (npy_intp *)shape, NPY_FLOAT64, 0);
}

PyObject *py_new_i32(int ndim, const npy_intp *shape) {
  return PyArray_ZEROS(ndim, (npy_intp *)shape, NPY_INT32, 0);
}

// Casts const away for NumPy; the array is read-only.
static PyObject *view(PyObject *owner, const void *data, int type, int ndim,
                      const npy_intp *shape) {
  PyObject *a = PyArray_SimpleNewFromData(ndim, (npy_intp *)shape, type, (void *)data);
  if (!a) return NULL;
  PyArray_CLEARFLAGS((PyArrayObject *)a, NPY_ARRAY_WRITEABLE);
  Py_INCREF(owner);
  if (PyArray_SetBaseObject((PyArrayObject *)a, owner) < 0) Py_CLEAR(a);
  return a;
}

PyObject *py_view_f64(PyObject *owner, const double *data, int ndim, const npy_intp *shape) {
  return view(owner, data, NPY_FLOAT64, ndim, shape);
}

PyObject *py_view_i32(PyObject *owner, const int32_t *data, int ndim, const npy_intp *shape) {
  return view(owner, data, NPY_INT32, ndim, shape);
}

PyObject *py_view_f32(PyObject *owner, const float *data, int ndim, const npy_intp *shape) {
  return view(owner, data, NPY_FLOAT32, ndim, shape);
}

PyObject *py_project(PyObject *args, const void *model, const char *name, const char *force_name,
                     int32_t carriers, int32_t r, py_push push) {
  PyObject *carrier_obj, *forces_obj, *out = NULL;
  py_in carrier = {0}, forces = {0};
  if (!PyArg_ParseTuple(args, "OO:project", &carrier_obj, &forces_obj)) return NULL;
  if (py_in_i32(&carrier, carrier_obj, name, 1, (npy_intp[]){PY_ANY}, 0, carriers - 1) == 0 &&
      py_in_f64(&forces, forces_obj, force_name, 2, (npy_intp[]){carrier.shape[0], 3}) == 0 &&
      (out = py_new_f64(1, (npy_intp[]){r}))) {
    double *to = py_f64(out);
    PY_WITHOUT_GIL(push(model, (int32_t)carrier.shape[0], carrier.data, forces.data, to));
  }
  PY_IN_RELEASE(&carrier, &forces);
  return out;
}
