// Gives other rooms' bindings the C device inside a _core.Device.
#ifndef RF_PYEXT_PY_DEVICE_H
#define RF_PYEXT_PY_DEVICE_H

#include "device/device.h"
#include "pyext/py_core.h"

// Returns the C device; NULL with InputTypeError set when `object` is not a _core.Device.
rf_device *py_device_get(py_state *state, PyObject *object);

// Returns (name, max_force, max_torque, max_stiffness, sensed, actuated, rate).
PyObject *py_device_info(const rf_device_info *info);

#endif
