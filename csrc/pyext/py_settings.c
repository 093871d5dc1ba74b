#include "pyext/py_settings.h"

#include <stdbool.h>
#include <stdint.h>

static int value_in(py_state *state, const rf_setting *s, PyObject *value, const char *of,
                    char *to) {
  void *field = to + s->offset;
  if (s->kind == RF_SETTING_BOOL) {
    *(bool *)field = value == Py_True;
    if (PyBool_Check(value)) return 0;
    py_fail(state, "InputTypeError", "%s: %s must be a bool, got %R", of, s->name, value);
    return -1;
  }
  if (s->kind == RF_SETTING_INT32) {
    const long number = PyLong_AsLong(value);
    const bool good = !PyErr_Occurred() && number >= INT32_MIN && number <= INT32_MAX;
    PyErr_Clear();
    *(int32_t *)field = (int32_t)number;
    if (good) return 0;
    py_fail(state, "InputTypeError", "%s: %s must be an int of 32 bits, got %R", of, s->name,
            value);
    return -1;
  }
  const double number = PyFloat_AsDouble(value);
  *(double *)field = number;
  if (!PyErr_Occurred()) return 0;
  PyErr_Clear();
  py_fail(state, "InputTypeError", "%s: %s must be a number, got %R", of, s->name, value);
  return -1;
}

static bool is_known(const rf_setting *table, PyObject *name) {
  for (const rf_setting *s = table; s->name; ++s)
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, s->name) == 0) return true;
  return false;
}

int py_settings_in(py_state *state, PyObject *dict, const char *of, const rf_setting *table,
                   void *to) {
  PyObject *name, *value;
  Py_ssize_t at = 0;
  if (!PyDict_Check(dict)) {
    py_fail(state, "InputTypeError", "%s: settings must be a dict, got %s", of,
            Py_TYPE(dict)->tp_name);
    return -1;
  }
  while (PyDict_Next(dict, &at, &name, &value))
    if (!is_known(table, name)) {
      py_fail(state, "InputTypeError", "%s has no setting %R", of, name);
      return -1;
    }
  for (const rf_setting *s = table; s->name; ++s) {
    value = PyDict_GetItemString(dict, s->name);
    if (!value) {
      py_fail(state, "InputTypeError", "%s: the setting %s is missing", of, s->name);
      return -1;
    }
    if (value_in(state, s, value, of, to) < 0) return -1;
  }
  return 0;
}
