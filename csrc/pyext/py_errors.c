#include "pyext/py_core.h"

#include <stdarg.h>
#include <string.h>

// Names the class in reducedfem.errors for each status.
static const char *class_of(rf_status st) {
  switch (st) {
    case RF_ERR_ARG: return "InputError";
    case RF_ERR_SINGULAR: return "SingularMatrixError";
    case RF_ERR_NO_CONVERGENCE: return "ConvergenceError";
    case RF_ERR_MESH: return "MeshError";
    case RF_ERR_DIVERGED: return "DivergedError";
    case RF_ERR_DEVICE: return "DeviceError";
    default: return "InternalError";
  }
}

PyObject *py_text(const char *text) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

static void set_error(py_state *state, const char *error_class, PyObject *text) {
  PyObject *type = text ? PyObject_GetAttrString(state->errors, error_class) : NULL;
  if (type) PyErr_SetObject(type, text);
  Py_XDECREF(type);
  Py_XDECREF(text);
}

PyObject *py_raise(py_state *state, rf_status st, const rf_error *err) {
  if (PyErr_Occurred()) return NULL;
  if (st == RF_ERR_MEMORY) {
    PyErr_SetString(PyExc_MemoryError, err->text);
    return NULL;
  }
  set_error(state, class_of(st), py_text(err->text));
  return NULL;
}

PyObject *py_result(py_state *state, rf_status st, const rf_error *err, PyObject *out) {
  if (st >= 0) return out;
  Py_XDECREF(out);
  return py_raise(state, st, err);
}

PyObject *py_fail(py_state *state, const char *error_class, const char *format, ...) {
  if (PyErr_Occurred()) return NULL;
  va_list args;
  va_start(args, format);
  set_error(state, error_class, PyUnicode_FromFormatV(format, args));
  va_end(args);
  return NULL;
}

int py_require_type(py_state *state, PyObject *object, py_type_index type, const char *name,
                    const char *wanted) {
  if (Py_TYPE(object) == state->types[type]) return 0;
  py_fail(state, "InputTypeError", "%s must be a reducedfem.%s, got %s", name, wanted,
          Py_TYPE(object)->tp_name);
  return -1;
}

int py_refuse_keywords(PyTypeObject *type, PyObject *kwargs) {
  if (!kwargs || PyDict_GET_SIZE(kwargs) == 0) return 0;
  py_fail(PyType_GetModuleState(type), "InputTypeError", "%s takes no keyword arguments",
          type->tp_name);
  return -1;
}
