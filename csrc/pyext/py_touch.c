#include "pyext/py_touch.h"

#include "pyext/py_object.h"

// Types whose objects hold an rf_touch, with a lock.
static const py_type_index KINDS[] = {PY_TIP, PY_EXPLICIT_TOUCH};

rf_touch *py_touch_get(py_state *state, PyObject *object) {
  for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; ++k)
    if (Py_TYPE(object) == state->types[KINDS[k]]) return py_held(object);
  py_fail(state, PY_INPUT_TYPE_ERROR, "contact must be a body to touch, got %s",
          Py_TYPE(object)->tp_name);
  return NULL;
}
