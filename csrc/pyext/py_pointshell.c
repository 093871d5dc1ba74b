// Iso-surfaces of grids.
#include <string.h>

#include "pyext/py_convert.h"
#include "pyext/py_core.h"
#include "sdf/isosurface.h"

// samples (n0, n1, n2): float32 in C order, as they are kept
static PyArrayObject *take_samples(py_state *state, PyObject *object) {
  if (!PyArray_Check(object) || PyArray_TYPE((PyArrayObject *)object) != NPY_FLOAT32 ||
      PyArray_NDIM((PyArrayObject *)object) != 3) {
    py_fail(state, "InputTypeError", "values must be a float32 array with three axes");
    return NULL;
  }
  for (int c = 0; c < 3; ++c)
    if (PyArray_DIM((PyArrayObject *)object, c) > INT32_MAX) {
      py_fail(state, "InputError", "values has %zd samples along axis %d, which is too many",
              PyArray_DIM((PyArrayObject *)object, c), c);
      return NULL;
    }
  return (PyArrayObject *)PyArray_FROMANY(object, NPY_FLOAT32, 3, 3, NPY_ARRAY_CARRAY_RO);
}

PyDoc_STRVAR(isosurface_doc,
             "isosurface($module, values, origin, spacing, value, progress, threads, /)\n--\n\n"
             "Closed surface where float32 samples have a value: vertices (v, 3), triangles "
             "(t, 3),\nnumber of vertices on the sides of the box.");
static PyObject *isosurface(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *values_obj, *origin_obj, *spacing_obj, *progress, *result = NULL;
  double value;
  int threads;
  if (!PyArg_ParseTuple(args, "OOOdOi:isosurface", &values_obj, &origin_obj, &spacing_obj, &value,
                        &progress, &threads))
    return NULL;
  py_run run;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  py_in origin = {0}, spacing = {0};
  const npy_intp three = 3;
  PyArrayObject *values = take_samples(state, values_obj);
  if (values && py_in_f64(&origin, origin_obj, "origin", 1, &three) == 0 &&
      py_in_f64(&spacing, spacing_obj, "spacing", 1, &three) == 0) {
    const int32_t n[3] = {(int32_t)PyArray_DIM(values, 0), (int32_t)PyArray_DIM(values, 1),
                          (int32_t)PyArray_DIM(values, 2)};
    rf_isosurface s = {0};
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_isosurface_create(n, origin.data, spacing.data, PyArray_DATA(values), value, &run.run,
                              &s, &err);
    Py_END_ALLOW_THREADS
    if (st < 0) {
      py_raise(state, st, &err);
    } else {
      PyObject *v = py_new_f64(2, (npy_intp[]){s.n_vertices, 3});
      PyObject *t = py_new_i32(2, (npy_intp[]){s.n_triangles, 3});
      if (v && t) {
        memcpy(py_f64(v), s.vertices, 3 * (size_t)s.n_vertices * sizeof *s.vertices);
        memcpy(py_i32(t), s.triangles, 3 * (size_t)s.n_triangles * sizeof *s.triangles);
        result = Py_BuildValue("OOL", v, t, (long long)s.n_closing);
      }
      Py_XDECREF(v);
      Py_XDECREF(t);
      rf_isosurface_free(&s);
    }
  }
  Py_XDECREF(values);
  py_in_release(&origin);
  py_in_release(&spacing);
  return result;
}

PyMethodDef py_pointshell_functions[] = {
    {"isosurface", isosurface, METH_VARARGS, isosurface_doc},
    {NULL, NULL, 0, NULL},
};
