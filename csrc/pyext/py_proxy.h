// Rigid bodies that solids touch in explicit steps, for the binding of motions.
#ifndef RF_PYEXT_PY_PROXY_H
#define RF_PYEXT_PY_PROXY_H

#include "dynamics/collide.h"
#include "pyext/py_convert.h"
#include "pyext/py_source.h"

// Reads the argument `proxy` of a motion, None or (Proxy, nodes, stable step), of a source:
// set->proxy is NULL without one.  `nodes` holds set->node, to be released in either case.  0, or
// -1 with an exception.
int py_proxy_in(py_state *state, PyObject *object, const py_source *from, rf_collide_settings *set,
                PyObject **proxy, py_in *nodes);

// The results of a motion's contact, copied: (nodes, node forces, force, torque, impulse, position,
// quaternion) on the solid; c NULL: None.  `motion` is its object, which is locked meanwhile.
PyObject *py_proxy_results(PyObject *motion, const rf_collide *c);

#endif
