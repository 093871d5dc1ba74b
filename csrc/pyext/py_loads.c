#include "pyext/py_loads.h"

int py_in_loads(py_state *state, py_loads *in, PyObject *tuple, npy_intp n) {
  const npy_intp any = PY_ANY;
  if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 5) {
    py_fail(state, PY_INPUT_TYPE_ERROR,
            "loads must be a tuple (ptr, node, force, patterns, coordinates)");
    return -1;
  }
  PyObject *const *item = &PyTuple_GET_ITEM(tuple, 0);
  if (py_in_i32(&in->ptr, item[0], "ptr", 1, &any, 0, INT32_MAX) < 0) return -1;
  if (in->ptr.shape[0] < 1) {
    py_fail(state, PY_INPUT_ERROR, "ptr has 0 entries; at least one is needed");
    return -1;
  }
  const npy_intp count = in->ptr.shape[0] - 1;
  const int32_t *ptr = in->ptr.data;
  int ok = ptr[0] == 0;
  for (npy_intp i = 0; ok && i < count; ++i) ok = ptr[i] <= ptr[i + 1];
  if (!ok) {
    py_fail(state, PY_INPUT_ERROR, "ptr must begin with 0 and not descend");
    return -1;
  }
  const npy_intp total = ptr[count];
  if (py_in_i32(&in->node, item[1], "node", 1, &total, 0, (int32_t)n - 1) < 0 ||
      py_in_f64(&in->force, item[2], "force", 2, (npy_intp[]){total, 3}) < 0 ||
      py_in_fields(&in->patterns, item[3], "patterns", n) < 0 ||
      py_in_f64(&in->coordinates, item[4], "coordinates", 2,
                (npy_intp[]){count, in->patterns.shape[0]}) < 0)
    return -1;
  in->view = (rf_loads){.count = (int32_t)count,
                        .ptr = ptr,
                        .node = in->node.data,
                        .force = in->force.data,
                        .n_patterns = (int32_t)in->patterns.shape[0],
                        .patterns = in->patterns.data,
                        .coordinates = in->coordinates.data};
  return 0;
}

void py_loads_release(py_loads *in) {
  PY_IN_RELEASE(&in->ptr, &in->node, &in->force, &in->patterns, &in->coordinates);
}
