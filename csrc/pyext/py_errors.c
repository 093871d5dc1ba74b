#include "pyext/py_core.h"

#include <stdarg.h>
#include <string.h>

// Classes of reducedfem.errors.
static const char *const NAMES[] = {[PY_INPUT_ERROR] = "InputError",
                                    [PY_INPUT_TYPE_ERROR] = "InputTypeError",
                                    [PY_SINGULAR_ERROR] = "SingularMatrixError",
                                    [PY_CONVERGENCE_ERROR] = "ConvergenceError",
                                    [PY_MESH_ERROR] = "MeshError",
                                    [PY_DIVERGED_ERROR] = "DivergedError",
                                    [PY_DEVICE_ERROR] = "DeviceError",
                                    [PY_INTERNAL_ERROR] = "InternalError"};

const char *py_error_name(py_error error) { return NAMES[error]; }

static py_error class_of(rf_status st) {
  switch (st) {
    case RF_ERR_ARG: return PY_INPUT_ERROR;
    case RF_ERR_SINGULAR: return PY_SINGULAR_ERROR;
    case RF_ERR_NO_CONVERGENCE: return PY_CONVERGENCE_ERROR;
    case RF_ERR_MESH: return PY_MESH_ERROR;
    case RF_ERR_DIVERGED: return PY_DIVERGED_ERROR;
    case RF_ERR_DEVICE: return PY_DEVICE_ERROR;
    default: return PY_INTERNAL_ERROR;
  }
}

PyObject *py_text(const char *text) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

static void set_error(py_state *state, py_error error, PyObject *text) {
  PyObject *type = text ? PyObject_GetAttrString(state->errors, NAMES[error]) : NULL;
  if (type) PyErr_SetObject(type, text);
  PY_XDECREF(type, text);
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

int py_done(py_state *state, rf_status st, const rf_error *err) {
  if (st >= 0) return 0;
  py_raise(state, st, err);
  return -1;
}

PyObject *py_result(py_state *state, rf_status st, const rf_error *err, PyObject *out) {
  if (st >= 0) return out;
  Py_XDECREF(out);
  return py_raise(state, st, err);
}

PyObject *py_fail(py_state *state, py_error error, const char *format, ...) {
  if (PyErr_Occurred()) return NULL;
  va_list args;
  va_start(args, format);
  set_error(state, error, PyUnicode_FromFormatV(format, args));
  va_end(args);
  return NULL;
}

int py_require_type(py_state *state, PyObject *object, py_type_index type, const char *name,
                    const char *wanted) {
  if (Py_TYPE(object) == state->types[type]) return 0;
  py_fail(state, PY_INPUT_TYPE_ERROR, "%s must be a reducedfem.%s, got %s", name, wanted,
          Py_TYPE(object)->tp_name);
  return -1;
}

int py_refuse_keywords(PyTypeObject *type, PyObject *kwargs) {
  if (!kwargs || PyDict_GET_SIZE(kwargs) == 0) return 0;
  py_fail(PyType_GetModuleState(type), PY_INPUT_TYPE_ERROR, "%s takes no keyword arguments",
          type->tp_name);
  return -1;
}
