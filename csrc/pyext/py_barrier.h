// Contact by a barrier, from _core.Barrier and out of motions.
#ifndef RF_PYEXT_PY_BARRIER_H
#define RF_PYEXT_PY_BARRIER_H

#include "dynamics/barrier.h"
#include "dynamics/barrier_parts.h"
#include "pyext/py_core.h"

// Returns the C barrier, valid while `object` lives; NULL for None.  0, or -1 with InputTypeError.
int py_barrier_in(py_state *state, PyObject *object, const rf_barrier **out);

// Pairs of a contact, copied from that of a motion.
typedef struct py_barrier_pairs {
  rf_barrier_pair *pair;
  rf_barrier_contact *contact;  // of parts
  int32_t n_contacts;
  double least;  // distance of parts, INFINITY: not known
} py_barrier_pairs;

RF_MUST_CHECK rf_status py_barrier_copy(const rf_barrier_work *work, py_barrier_pairs *out,
                                        rf_error *err);
void py_barrier_release(py_barrier_pairs *pairs);

// Returns (nodes, obstacles, distances, normals, normal forces, friction, smallest distance) of
// pairs nearer than the distance of the barrier, and nodes, weights, distances, normals, normal
// forces and friction of those of parts.
PyObject *py_barrier_state(const rf_barrier *b, const py_barrier_pairs *pairs);

#endif
