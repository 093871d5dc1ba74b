#include "pyext/py_settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pyext/py_convert.h"

// Raises the error of a value of another kind; keeps an exception that is not about it.
static int refuse(py_state *state, const rf_setting *s, const char *of, const char *wanted,
                  PyObject *value) {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError) &&
      !PyErr_ExceptionMatches(PyExc_OverflowError))
    return -1;
  PyErr_Clear();
  py_fail(state, PY_INPUT_TYPE_ERROR, "%s: %s must be %s, got %R", of, s->name, wanted, value);
  return -1;
}

static int integer_in(py_state *state, const rf_setting *s, PyObject *value, const char *of,
                      const char *wanted, long long low, long long high, long long *out) {
  *out = PyLong_AsLongLong(value);
  if (!PyErr_Occurred() && *out >= low && *out <= high) return 0;
  return refuse(state, s, of, wanted, value);
}

static int doubles_in(py_state *state, const rf_setting *s, PyObject *value, const char *of,
                      double *to) {
  if (s->count == 0) {
    *to = PyFloat_AsDouble(value);
    return PyErr_Occurred() ? refuse(state, s, of, "a number", value) : 0;
  }
  char wanted[32];
  snprintf(wanted, sizeof wanted, "a tuple of %d numbers", s->count);
  if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != s->count)
    return refuse(state, s, of, wanted, value);
  for (int i = 0; i < s->count; ++i) {
    to[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(value, i));
    if (PyErr_Occurred()) return refuse(state, s, of, wanted, value);
  }
  return 0;
}

typedef struct arrays {
  npy_intp length;
  PyObject *held;  // list that holds the converted arrays
} arrays;

static int array_in(const rf_setting *s, PyObject *value, const arrays *a, const double **to) {
  py_in in = {0};
  *to = NULL;
  if (value == Py_None) return 0;
  if (py_in_f64(&in, value, s->name, 1, &a->length) < 0) return -1;
  const int st = PyList_Append(a->held, (PyObject *)in.array);
  *to = in.data;
  py_in_release(&in);
  return st;
}

static int value_in(py_state *state, const rf_setting *s, PyObject *value, const char *of,
                    const arrays *a, void *to) {
  void *field = (char *)to + s->offset;
  long long number = 0;
  int st = 0;
  switch (s->kind) {
    case RF_SETTING_DOUBLE: return doubles_in(state, s, value, of, field);
    case RF_SETTING_INT32:
      st = integer_in(state, s, value, of, "an int of 32 bits", INT32_MIN, INT32_MAX, &number);
      *(int32_t *)field = (int32_t)number;
      return st;
    case RF_SETTING_INT64:
      st = integer_in(state, s, value, of, "an int of 64 bits", INT64_MIN, INT64_MAX, &number);
      *(int64_t *)field = number;
      return st;
    case RF_SETTING_UINT32:
      st = integer_in(state, s, value, of, "an unsigned int of 32 bits", 0, UINT32_MAX, &number);
      *(uint32_t *)field = (uint32_t)number;
      return st;
    case RF_SETTING_BOOL:
      *(bool *)field = value == Py_True;
      return PyBool_Check(value) ? 0 : refuse(state, s, of, "a bool", value);
    case RF_SETTING_ARRAY: return array_in(s, value, a, field);
  }
  return -1;
}

static bool is_known(const rf_setting *table, PyObject *name) {
  for (const rf_setting *s = table; s && s->name; ++s)
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, s->name) == 0) return true;
  return false;
}

static int fields_in(py_state *state, const rf_setting *table, PyObject *dict, const char *of,
                     const arrays *a, void *to) {
  for (const rf_setting *s = table; s && s->name; ++s) {
    PyObject *value = PyDict_GetItemString(dict, s->name);
    if (!value) {
      py_fail(state, PY_INPUT_TYPE_ERROR, "%s: the setting %s is missing", of, s->name);
      return -1;
    }
    Py_INCREF(value);  // its conversion may run Python
    const int st = value_in(state, s, value, of, a, to);
    Py_DECREF(value);
    if (st < 0) return -1;
  }
  return 0;
}

static int settings_in(py_state *state, PyObject *dict, const char *of, int count,
                       const py_settings *all, const arrays *a) {
  PyObject *name, *value;
  Py_ssize_t at = 0;
  if (!PyDict_Check(dict)) {
    py_fail(state, PY_INPUT_TYPE_ERROR, "%s: settings must be a dict, got %s", of,
            Py_TYPE(dict)->tp_name);
    return -1;
  }
  while (PyDict_Next(dict, &at, &name, &value)) {
    bool known = false;
    for (int k = 0; k < count; ++k) known = known || is_known(all[k].table, name);
    if (!known) {
      py_fail(state, PY_INPUT_TYPE_ERROR, "%s has no setting %R", of, name);
      return -1;
    }
  }
  for (int k = 0; k < count; ++k)
    if (fields_in(state, all[k].table, dict, of, a, all[k].to) < 0) return -1;
  return 0;
}

int py_settings_in_all(py_state *state, PyObject *dict, const char *of, int count,
                       const py_settings *all) {
  return settings_in(state, dict, of, count, all, NULL);
}

int py_settings_in(py_state *state, PyObject *dict, const char *of, const rf_setting *table,
                   void *to) {
  return settings_in(state, dict, of, 1, &(py_settings){table, to}, NULL);
}

int py_settings_arrays_in(py_state *state, PyObject *dict, const char *of, const rf_setting *table,
                          npy_intp length, PyObject *held, void *to) {
  const arrays a = {length, held};
  return settings_in(state, dict, of, 1, &(py_settings){table, to}, &a);
}
