// Gives other rooms' bindings the C tree inside a _core.PointTree.
#ifndef RF_PYEXT_PY_POINT_TREE_H
#define RF_PYEXT_PY_POINT_TREE_H

#include "pointshell/tree.h"
#include "pyext/py_core.h"

// Returns the C tree; NULL with InputTypeError set when `object` is not a _core.PointTree.
const rf_point_tree *py_point_tree_get(py_state *state, PyObject *object);

#endif
