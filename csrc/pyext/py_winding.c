// Winding numbers of surfaces, orientation of their parts, holes and thickness.
#include <string.h>

#include "base/alloc.h"
#include "mesh/holes.h"
#include "mesh/inside.h"
#include "mesh/orientation.h"
#include "mesh/thickness.h"
#include "mesh/winding.h"
#include "pyext/py_surface.h"

PyDoc_STRVAR(winding_doc,
             "surface_winding($module, vertices, triangles, points, outward, progress, threads, "
             "/)\n--\n\n"
             "Winding numbers (n,) at points; outward: after the parts were turned to face "
             "outward.");
static PyObject *surface_winding(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *points, *out = NULL;
  int outward;
  py_run run;
  py_surface in = {0};
  py_in p = {0};
  if (PyArg_ParseTuple(args, "OOOpOi:surface_winding", PY_SURFACE_ARGS(in), &points, &outward,
                       PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0 &&
      py_in_f64(&p, points, "points", 2, (npy_intp[]){PY_ANY, 3}) == 0 &&
      (out = py_new_f64(1, p.shape))) {
    double *to = py_f64(out);
    rf_winding *w = NULL;
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = outward ? rf_winding_create(&in.view, &run.run, &w, &err)
                 : rf_winding_create_reversed(&in.view, NULL, &run.run, &w, &err);
    if (st == RF_OK) st = rf_winding_at_many(w, p.shape[0], p.data, to, &run.run, &err);
    rf_winding_free(w);
    Py_END_ALLOW_THREADS
    out = py_result(state, st, &err, out);
  }
  py_surface_release(&in);
  py_in_release(&p);
  return out;
}

PyDoc_STRVAR(reversed_doc,
             "surface_reversed($module, vertices, triangles, progress, threads, /)\n--\n\n"
             "Triangles to reverse so that the parts of a surface face outward, int32 (n,).");
static PyObject *surface_reversed(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *result = NULL;
  py_run run;
  py_surface in = {0};
  uint8_t *reversed = NULL;
  if (PyArg_ParseTuple(args, "OOOi:surface_reversed", PY_SURFACE_ARGS(in), PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0) {
    const int32_t n = in.view.n_triangles;
    rf_error err = {0};
    rf_status st = RF_ERR_MEMORY;
    npy_intp count = 0;
    Py_BEGIN_ALLOW_THREADS
    reversed = rf_alloc((size_t)n, 1);
    if (!reversed)
      rf_fail(&err, st, "out of memory: the orientation of %d triangles", (int)n);
    else
      st = rf_orientation_find(&in.view, &run.run, reversed, &err);
    for (int32_t t = 0; st == RF_OK && t < n; ++t) count += reversed[t];
    Py_END_ALLOW_THREADS
    result = py_result(state, st, &err, st < 0 ? NULL : py_new_i32(1, &count));
    int32_t *to = result ? py_i32(result) : NULL;
    for (int32_t t = 0; to && t < n; ++t)
      if (reversed[t]) *to++ = t;
  }
  rf_free(reversed);
  py_surface_release(&in);
  return result;
}

// Returns loops as a list of int32 arrays.
static PyObject *list_loops(const rf_holes *h) {
  PyObject *list = PyList_New(h->n);
  for (int32_t i = 0; list && i < h->n; ++i) {
    const npy_intp n = h->first[i + 1] - h->first[i];
    PyObject *loop = py_new_i32(1, &n);
    if (!loop) {
      Py_CLEAR(list);
      break;
    }
    memcpy(py_i32(loop), h->vertex + h->first[i], (size_t)n * sizeof *h->vertex);
    PyList_SET_ITEM(list, i, loop);
  }
  return list;
}

PyDoc_STRVAR(
    holes_doc,
    "surface_holes($module, vertices, triangles, fill, progress, threads, /)\n--\n\n"
    "Loops of a surface's border in the direction of its triangles, a list of int32 arrays\n"
    "(n,); with fill (loops, triangles that close them, int32 (k, 3)).");
static PyObject *surface_holes(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *result = NULL;
  int fill;
  py_run run;
  py_surface in = {0};
  if (PyArg_ParseTuple(args, "OOpOi:surface_holes", PY_SURFACE_ARGS(in), &fill, PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0) {
    rf_holes holes;
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_holes_find(&in.view, NULL, &run.run, &holes, &err));
    PyObject *loops = st < 0 ? py_raise(state, st, &err) : list_loops(&holes), *made = NULL;
    if (loops && fill) made = py_new_i32(2, (npy_intp[]){(npy_intp)rf_holes_triangles(&holes), 3});
    if (made) {
      int32_t *to = py_i32(made);
      PY_WITHOUT_GIL(st = rf_holes_fill(&in.view, &holes, &run.run, to, &err));
      made = py_result(state, st, &err, made);
    }
    if (loops) result = !fill ? Py_NewRef(loops) : made ? PyTuple_Pack(2, loops, made) : NULL;
    PY_XDECREF(loops, made);
    rf_holes_free(&holes);
  }
  py_surface_release(&in);
  return result;
}

PyDoc_STRVAR(
    thickness_doc,
    "surface_thickness($module, vertices, triangles, progress, threads, of=None, /)\n--\n\n"
    "Thickness of the body at the triangles `of`, None: at all: 0 for single sheets, infinity for\n"
    "triangles wholly inside and where the ray leaves through a hole.");
static PyObject *surface_thickness(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *vertices, *triangles, *progress, *of_obj = Py_None, *out = NULL;
  int threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "OOOi|O:surface_thickness", &vertices, &triangles, &progress,
                        &threads, &of_obj) ||
      py_run_init(state, &run, progress, threads) < 0)
    return NULL;
  py_surface in = {0};
  py_in of = {0};
  if (py_in_surface(state, &in, vertices, triangles) < 0) goto done;
  const bool all = of_obj == Py_None;
  if (!all && py_in_i32(&of, of_obj, "of", 1, (npy_intp[]){PY_ANY}, 0, in.view.n_triangles - 1) < 0)
    goto done;
  const npy_intp n = all ? in.view.n_triangles : of.shape[0];
  out = py_new_f64(1, &n);
  if (out) {
    double *to = py_f64(out);
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_surface_thickness(&in.view, n, all ? NULL : of.data, &run.run, to, &err);
    Py_END_ALLOW_THREADS
    out = py_result(state, st, &err, out);
  }
done:
  py_in_release(&of);
  py_surface_release(&in);
  return out;
}

PyDoc_STRVAR(sheets_doc,
             "surface_sheets($module, vertices, triangles, threads, /)\n--\n\n"
             "Share of the area that encloses nothing: single sheets.");
static PyObject *surface_sheets(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *vertices, *triangles, *result = NULL;
  int threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "OOi:surface_sheets", &vertices, &triangles, &threads) ||
      py_run_init(state, &run, Py_None, threads) < 0)
    return NULL;
  py_surface in = {0};
  if (py_in_surface(state, &in, vertices, triangles) == 0) {
    rf_inside *inside = NULL;
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_inside_create(&in.view, &run.run, &inside, &err));
    result = st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(rf_inside_sheets(inside));
    rf_inside_free(inside);
  }
  py_surface_release(&in);
  return result;
}

static PyMethodDef functions[] = {
    {"surface_sheets", surface_sheets, METH_VARARGS, sheets_doc},
    {"surface_thickness", surface_thickness, METH_VARARGS, thickness_doc},
    {"surface_holes", surface_holes, METH_VARARGS, holes_doc},
    {"surface_winding", surface_winding, METH_VARARGS, winding_doc},
    {"surface_reversed", surface_reversed, METH_VARARGS, reversed_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_winding_room = {.functions = functions};
