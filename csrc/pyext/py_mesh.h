// Gives other rooms' bindings the C mesh inside a _core.Mesh.
#ifndef RF_PYEXT_PY_MESH_H
#define RF_PYEXT_PY_MESH_H

#include "mesh/mesh.h"
#include "pyext/py_core.h"

// Returns the C mesh, valid while `object` lives; NULL with InputTypeError set when `object` is not
// a _core.Mesh.
const rf_mesh *py_mesh_get(py_state *state, PyObject *object);

#endif
