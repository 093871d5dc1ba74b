// Motions of reduced models, copied out of and into _core.Motion.
#ifndef RF_PYEXT_PY_MOTION_H
#define RF_PYEXT_PY_MOTION_H

#include "dynamics/motion.h"
#include "pyext/py_core.h"

// A copy in the same state, to be freed by rf_motion_free, of which the model must be kept alive
// by way of `object`; NULL for None.  0, or -1 with an exception.
int py_motion_copy(py_state *state, PyObject *object, rf_motion **out);
// The state of `from`, a motion of the same model.
int py_motion_restore(py_state *state, PyObject *object, const rf_motion *from);

// Numbers that a step goes through at most, 0 where it is long anyway, and how many steps of that
// many numbers lie between two checks for signals: some milliseconds.
double py_step_work(const rf_motion *m);
int64_t py_step_chunk(double work);

#endif
