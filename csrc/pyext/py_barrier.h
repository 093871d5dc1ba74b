// Contact by a barrier, from _core.Barrier and out of motions.
#ifndef RF_PYEXT_PY_BARRIER_H
#define RF_PYEXT_PY_BARRIER_H

#include "dynamics/barrier.h"
#include "pyext/py_core.h"

// Returns the C barrier, valid while `object` lives; NULL for None.  0, or -1 with InputTypeError.
int py_barrier_in(py_state *state, PyObject *object, const rf_barrier **out);

// Returns (nodes, obstacles, distances, normals, normal forces, friction, smallest distance): of
// pairs nearer than the distance of the barrier, copied from `pair`.
PyObject *py_barrier_state(const rf_barrier *b, const rf_barrier_pair *pair);

#endif
