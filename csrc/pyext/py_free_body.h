// Gives other rooms' bindings the C body inside a _core.FreeBody.
#ifndef RF_PYEXT_PY_FREE_BODY_H
#define RF_PYEXT_PY_FREE_BODY_H

#include "dynamics/free_body.h"
#include "pyext/py_core.h"

// Returns the C body, which changes while its object is not locked; NULL with InputTypeError set
// when `object` is not a _core.FreeBody.
rf_free_body *py_free_body_get(py_state *state, PyObject *object);
// Copies a body, under its lock; 0, or -1 with an exception set.
int py_free_body_copy(py_state *state, PyObject *object, rf_free_body **out);
// Takes the state of a body of the same model, under the lock; 0, or -1 with an exception set.
int py_free_body_restore(py_state *state, PyObject *object, const rf_free_body *from);
// Returns new arrays (position, quaternion, velocity, angular velocity, q, qdot, qddot) and the
// time of a body that the lock of `owner` guards.
PyObject *py_free_body_state(PyObject *owner, const rf_free_body *body);

#endif
