// Motions of reduced models, copied out of and into _core.Motion.
#ifndef RF_PYEXT_PY_MOTION_H
#define RF_PYEXT_PY_MOTION_H

#include "dynamics/motion.h"
#include "pyext/py_core.h"

// The motion of a reduced model that sessions and contact can step, or NULL with InputTypeError.
rf_motion *py_motion_coupled(py_state *state, PyObject *object);

// Copies a motion with its state; NULL for None.  The caller frees the copy by rf_motion_free and
// keeps `object`, which owns the model, alive until then.  0, or -1 with an exception.
int py_motion_copy(py_state *state, PyObject *object, rf_motion **out);
// Sets the state to that of `from`, a motion of the same model.
int py_motion_restore(py_state *state, PyObject *object, const rf_motion *from);

// Finds the scheme of a name and fills its settings, of motion and scheme, from a dict; `of` names
// their owner.  The caller frees set->own by rf_free, also on failure.  0, or -1 with an exception.
int py_motion_settings_in(py_state *state, const char *scheme, PyObject *dict, const char *of,
                          rf_motion_settings *set);

// Returns the most numbers that a step reads; 0 for systems that are not real-time.
double py_step_work(const rf_motion *m);
// Returns the number of such steps between two checks for signals: some milliseconds.
int64_t py_step_chunk(double work);

// The method step_contact(force, contact, positions, quaternions, field_qs, progress).
PyObject *py_motion_step_contact(PyObject *object, PyObject *args);

#endif
