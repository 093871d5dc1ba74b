// Reads the model of a system as an argument.  The source of a model's Python type defines one
// py_NAME_source for its row of RF_SYSTEMS.
#ifndef RF_PYEXT_PY_SOURCE_H
#define RF_PYEXT_PY_SOURCE_H

#include "dynamics/system.h"
#include "pyext/py_convert.h"

// The model of a system, its damping, and the form of its vectors.
typedef struct py_source {
  const void *model;
  rf_system_damping damping;
  py_in viscosity;  // holds damping.viscosity
  npy_intp n;
  int ndim;  // 1: vectors (n,); 2: (n, 3)
} py_source;

typedef struct py_source_kind {
  py_type_index type;
  // Sets model, n, ndim and the strain-rate damping: 0, or -1 with an exception set.
  int (*in)(py_state *state, PyObject *system, PyObject *strain_rate, py_source *s);
} py_source_kind;

#define PY_SOURCE_DECLARE(name) extern const py_source_kind py_##name##_source;
RF_SYSTEMS(PY_SOURCE_DECLARE)
#undef PY_SOURCE_DECLARE

typedef struct py_system_kind {
  const py_source_kind *source;
  rf_system_create *create;
  rf_system_stable_step *stable_step;
} py_system_kind;

// Reads the model of a system and its strain-rate damping (None: none).  Returns its kind, or NULL
// with an exception set.  Release in either case.
const py_system_kind *py_source_in(py_state *state, PyObject *system, PyObject *strain_rate,
                                   py_source *s);
void py_source_release(py_source *s);

// Converts a vector of the system, or returns NULL data when `object` is None.
int py_source_vector_in(const py_source *s, py_in *in, PyObject *object, const char *name);

#endif
