// Rigid bodies that solids touch in explicit steps, for the binding of motions.
#ifndef RF_PYEXT_PY_PROXY_H
#define RF_PYEXT_PY_PROXY_H

#include "dynamics/collide.h"
#include "pyext/py_convert.h"
#include "pyext/py_source.h"

// The argument `proxy` of a motion: None or (proxies, nodes, stable step), of a source.
typedef struct py_proxies {
  rf_collide_settings set;
  const rf_proxy **held;
  py_in nodes;
  PyObject *sorted;  // tuple of the proxies, in the order in which they are locked; NULL: none
} py_proxies;

// Reads it: 0, or -1 with an exception.  To be released in either case.
int py_proxies_in(py_state *state, PyObject *object, const py_source *from, py_proxies *out);
void py_proxies_release(py_proxies *p);

// Locks or unlocks all of a sorted tuple (NULL: none).  Motions may share proxies: one order of all
// keeps threads from waiting for each other.
void py_proxies_lock(PyObject *sorted);
void py_proxies_unlock(PyObject *sorted);

// The results of a motion's contact, copied: a tuple of (nodes, node forces, force, torque,
// impulse, position, quaternion, normal force, nodes that slide) on the solid by each body; c NULL:
// None.  `motion` is its object, which is locked meanwhile.
PyObject *py_proxy_results(PyObject *motion, const rf_collide *c);

#endif
