// Methods of _core.Solid, _core.Reduced and _core.Projected for static loads.
#ifndef RF_PYEXT_PY_STATICS_H
#define RF_PYEXT_PY_STATICS_H

#include "pyext/py_core.h"

extern const char py_solid_static_doc[], py_solid_loads_doc[], py_reduced_static_doc[];

PyObject *py_solid_solve_static(PyObject *self, PyObject *args);
PyObject *py_solid_solve_loads(PyObject *self, PyObject *args);
PyObject *py_reduced_solve_static(PyObject *self, PyObject *args);
PyObject *py_projected_solve_static(PyObject *self, PyObject *args);

#endif
