// Gives other rooms' bindings the C embedding inside a _core.Embedding.
#ifndef RF_PYEXT_PY_EMBEDDING_H
#define RF_PYEXT_PY_EMBEDDING_H

#include "mesh/embed.h"
#include "pyext/py_core.h"

// Returns the C embedding, valid while `object` lives; NULL with InputTypeError set when `object`
// is not a _core.Embedding.
const rf_embedding *py_embedding_get(py_state *state, PyObject *object);

#endif
