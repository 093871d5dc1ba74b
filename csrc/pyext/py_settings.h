// Settings by name: a dict becomes a C struct by a table of base/settings.h.
#ifndef RF_PYEXT_PY_SETTINGS_H
#define RF_PYEXT_PY_SETTINGS_H

#include "base/settings.h"
#include "pyext/py_core.h"

// A struct and the table of its fields.
typedef struct py_settings {
  const rf_setting *table;  // nullable: none
  void *to;
} py_settings;

// Fills the fields of `to` from `dict`.  Returns 0, or -1 with InputTypeError: an unknown name, a
// missing one, or a value of another kind; `of` names the owner of the settings.
int py_settings_in(py_state *state, PyObject *dict, const char *of, const rf_setting *table,
                   void *to);
// The same of several structs, `count` >= 1.
int py_settings_in_all(py_state *state, PyObject *dict, const char *of, int count,
                       const py_settings *all);
// The same with arrays, all of `length`; they are converted and held by `held`, a list.
int py_settings_arrays_in(py_state *state, PyObject *dict, const char *of, const rf_setting *table,
                          npy_intp length, PyObject *held, void *to);

#endif
