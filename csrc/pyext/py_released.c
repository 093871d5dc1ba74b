// Green's functions of solids some of whose supports were released.
#include <string.h>

#include "green/released.h"
#include "pyext/py_convert.h"
#include "pyext/py_green.h"
#include "pyext/py_object.h"

static void release(void *green) { rf_green_free(green); }

// Makes the object, which keeps the one with the entries alive.
static PyObject *wrap(py_state *state, rf_green *g, PyObject *from) {
  return py_object_new(state->types[PY_GREEN], g, release, from);
}

PyDoc_STRVAR(released_doc,
             "green_released($module, green, released, threads, /)\n--\n\n"
             "A `Green` without some releasable nodes, by index: places behind the others.");
static PyObject *green_released(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *green_obj, *released_obj;
  py_in released = {0};
  int threads;
  py_run run;
  rf_green *out = NULL;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "OOi:green_released", &green_obj, &released_obj, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  const rf_green *g = py_green_get(state, green_obj);
  if (!g) return NULL;
  if (py_in_i32(&released, released_obj, "released", 1, (npy_intp[]){PY_ANY}, 0,
                g->n_releasable - 1) < 0) {
    py_in_release(&released);
    return NULL;
  }
  PY_WITHOUT_GIL(st = rf_green_released_create(g, &run.run, (int32_t)released.shape[0],
                                               released.data, &out, &err));
  py_in_release(&released);
  return st < 0 ? py_raise(state, st, &err) : wrap(state, out, green_obj);
}

PyDoc_STRVAR(of_entries_doc,
             "green_released_of_entries($module, green, nodes, releasable, static_modes, support, "
             "firm,\nadded, /)\n--\n\n"
             "A `Green` with the entries of another one and these arrays, as its attributes.");
static PyObject *of_entries(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *object[7], *result = NULL;
  py_in nodes = {0}, releasable = {0}, modes = {0}, support = {0}, firm = {0}, added = {0};
  rf_green *h = NULL;
  rf_error err = {0};
  const npy_intp any = PY_ANY;
  if (!PyArg_ParseTuple(args, "OOOOOOO:green_released_of_entries", &object[0], &object[1],
                        &object[2], &object[3], &object[4], &object[5], &object[6]))
    return NULL;
  const rf_green *g = py_green_get(state, object[0]);
  if (!g) return NULL;
  const int32_t most = g->n_nodes - 1;
  if (py_in_i32(&nodes, object[1], "nodes", 1, &any, 0, most) < 0 ||
      py_in_i32(&releasable, object[2], "releasable", 1, &any, 0, most) < 0)
    goto done;
  const rf_green_settings set = {.node = nodes.data,
                                 .count = (int32_t)nodes.shape[0],
                                 .releasable = releasable.data,
                                 .n_releasable = (int32_t)releasable.shape[0],
                                 .single = g->single,
                                 .simd = g->simd};
  const npy_intp rows = (set.count + RF_GREEN_TILE - 1) / RF_GREEN_TILE * RF_GREEN_TILE;
  const npy_intp r = 3 * (npy_intp)set.n_releasable, n = 3 * (npy_intp)(set.count - g->stored);
  if (py_in_f64(&modes, object[3], "static_modes", 3, (npy_intp[]){r, rows, 3}) < 0 ||
      py_in_f64(&support, object[4], "support", 2, (npy_intp[]){r, r}) < 0 ||
      py_in_f64(&firm, object[5], "firm", 1, &r) < 0 ||
      py_in_f64(&added, object[6], "added", 2, (npy_intp[]){3 * (npy_intp)set.count, n}) < 0)
    goto done;
  const rf_status st = rf_green_released_allocate(g, &set, &h, &err);
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  if (r) memcpy(h->static_modes, modes.data, (size_t)(r * rows * 3) * sizeof(double));
  if (r) memcpy(h->support, support.data, (size_t)(r * r) * sizeof(double));
  if (r) memcpy(h->firm, firm.data, (size_t)r * sizeof(double));
  memcpy(h->added, added.data, (size_t)(3 * (npy_intp)set.count * n) * sizeof(double));
  result = wrap(state, h, object[0]);
done:
  PY_IN_RELEASE(&nodes, &releasable, &modes, &support, &firm, &added);
  return result;
}

static PyMethodDef functions[] = {
    {"green_released", green_released, METH_VARARGS, released_doc},
    {"green_released_of_entries", of_entries, METH_VARARGS, of_entries_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_released_room = {.functions = functions};
