// The C tree inside a _core.PointTree.
#ifndef RF_PYEXT_PY_POINT_TREE_H
#define RF_PYEXT_PY_POINT_TREE_H

#include "pointshell/tree.h"
#include "pyext/py_core.h"

// NULL with InputTypeError set when `object` is no PointTree.
const rf_point_tree *py_point_tree_get(py_state *state, PyObject *object);

#endif
