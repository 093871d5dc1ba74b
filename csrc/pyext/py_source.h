// Reads the model of a system, for motions.  The source of a model's Python type defines one
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

#endif
