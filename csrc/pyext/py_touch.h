// Bodies that a hand touches directly, of all kinds, as arguments of sessions.
#ifndef RF_PYEXT_PY_TOUCH_H
#define RF_PYEXT_PY_TOUCH_H

#include "pyext/py_core.h"
#include "render/touch.h"

// Returns the body, which changes while its object is not locked; NULL with InputTypeError set when
// `object` is not of a type whose objects hold one.
rf_touch *py_touch_get(py_state *state, PyObject *object);

#endif
