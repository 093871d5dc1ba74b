// Surfaces as arguments, and the functions on them that need no type.
#include "pyext/py_surface.h"

#include <string.h>

#include "base/alloc.h"
#include "mesh/closest.h"
#include "mesh/crossings.h"

int py_in_surface(py_state *state, py_surface *in, PyObject *vertices, PyObject *triangles) {
  const npy_intp shape[2] = {PY_ANY, 3};
  if (py_in_f64(&in->vertices, vertices, "vertices", 2, shape) < 0) return -1;
  const npy_intp n = in->vertices.shape[0];
  if (n < 1) {
    py_fail(state, PY_MESH_ERROR, "vertices has 0 rows; a surface needs at least one");
    return -1;
  }
  if (py_in_i32(&in->triangles, triangles, "triangles", 2, shape, 0, (int32_t)(n - 1)) < 0)
    return -1;
  if (in->triangles.shape[0] < 1) {
    py_fail(state, PY_MESH_ERROR, "triangles has 0 rows; a surface needs at least one");
    return -1;
  }
  in->view = (rf_surface){.n_vertices = (int32_t)n,
                          .n_triangles = (int32_t)in->triangles.shape[0],
                          .vertices = in->vertices.data,
                          .triangles = in->triangles.data};
  return 0;
}

int py_surface_take(py_state *state, py_surface *in, py_run *run) {
  if (py_run_init(state, run, in->progress_arg, in->threads_arg) < 0) return -1;
  return py_in_surface(state, in, in->vertices_arg, in->triangles_arg);
}

void py_surface_release(py_surface *in) { PY_IN_RELEASE(&in->vertices, &in->triangles); }

static PyObject *sealed_copy(py_in *in) {
  PyObject *copy = PyArray_NewCopy(in->array, NPY_CORDER);
  if (copy) PyArray_CLEARFLAGS((PyArrayObject *)copy, NPY_ARRAY_WRITEABLE);
  return copy;
}

PyDoc_STRVAR(seal_doc,
             "surface_seal($module, vertices, triangles, /)\n--\n\n"
             "Checked read-only copies of a surface's arrays, float64 (v, 3) and int32 (t, 3).");
static PyObject *surface_seal(PyObject *module, PyObject *args) {
  PyObject *vertices, *triangles, *result = NULL;
  if (!PyArg_ParseTuple(args, "OO:surface_seal", &vertices, &triangles)) return NULL;
  py_surface in = {0};
  if (py_in_surface(py_state_of_module(module), &in, vertices, triangles) == 0) {
    PyObject *v = sealed_copy(&in.vertices), *t = v ? sealed_copy(&in.triangles) : NULL;
    if (t) result = PyTuple_Pack(2, v, t);
    PY_XDECREF(v, t);
  }
  py_surface_release(&in);
  return result;
}

PyDoc_STRVAR(measure_doc,
             "surface_measure($module, vertices, triangles, /)\n--\n\n"
             "Tuple (lo, hi, area, volume, n_degenerate, closed, manifold).");
static PyObject *surface_measure(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *vertices, *triangles, *result = NULL;
  if (!PyArg_ParseTuple(args, "OO:surface_measure", &vertices, &triangles)) return NULL;
  py_surface in = {0};
  if (py_in_surface(state, &in, vertices, triangles) == 0) {
    rf_surface_report report;
    rf_error err = {0};
    double lo[3], hi[3];
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    rf_surface_bounds(&in.view, lo, hi);
    st = rf_surface_measure(&in.view, &report, &err);
    Py_END_ALLOW_THREADS
    if (st < 0)
      py_raise(state, st, &err);
    else
      result = Py_BuildValue("(ddd)(ddd)ddiNN", lo[0], lo[1], lo[2], hi[0], hi[1], hi[2],
                             report.area, report.volume, (int)report.n_degenerate,
                             PyBool_FromLong(report.closed), PyBool_FromLong(report.manifold));
  }
  py_surface_release(&in);
  return result;
}

PyDoc_STRVAR(merge_doc,
             "surface_merge($module, vertices, /)\n--\n\n"
             "For each vertex the first one at exactly the same position, int32 (v,).");
static PyObject *surface_merge(PyObject *module, PyObject *arg) {
  py_state *state = py_state_of_module(module);
  py_in vertices;
  if (py_in_f64(&vertices, arg, "vertices", 2, (npy_intp[]){PY_ANY, 3}) < 0) return NULL;
  PyObject *result = py_new_i32(1, &vertices.shape[0]);
  if (result) {
    rf_error err = {0};
    int32_t *first = py_i32(result);
    rf_status st;
    PY_WITHOUT_GIL(st = rf_surface_merge((int32_t)vertices.shape[0], vertices.data, first, &err));
    result = py_result(state, st, &err, result);
  }
  py_in_release(&vertices);
  return result;
}

PyDoc_STRVAR(surface_normals_doc,
             "surface_normals($module, vertices, triangles, /)\n--\n\n"
             "Unit normals of the vertices (v, 3), weighted by angles.");
static PyObject *surface_normals(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *vertices, *triangles, *out = NULL;
  if (!PyArg_ParseTuple(args, "OO:surface_normals", &vertices, &triangles)) return NULL;
  py_surface in = {0};
  if (py_in_surface(state, &in, vertices, triangles) == 0) {
    out = py_new_f64(2, (npy_intp[]){in.view.n_vertices, 3});
    if (out) {
      double *to = py_f64(out);
      rf_error err = {0};
      rf_status st;
      PY_WITHOUT_GIL(st = rf_surface_normals(&in.view, to, &err));
      out = py_result(state, st, &err, out);
    }
  }
  py_surface_release(&in);
  return out;
}

PyDoc_STRVAR(
    cast_doc,
    "surface_cast($module, vertices, triangles, origin, direction, /)\n--\n\n"
    "First hit of a ray: (triangle, distance, a, b, c) with barycentric coordinates; triangle\n"
    "-1: no hit.");
static PyObject *surface_cast(PyObject *module, PyObject *args) {
  PyObject *vertices, *triangles, *origin_obj, *direction_obj, *result = NULL;
  if (!PyArg_ParseTuple(args, "OOOO:surface_cast", &vertices, &triangles, &origin_obj,
                        &direction_obj))
    return NULL;
  py_surface in = {0};
  py_in origin = {0}, direction = {0};
  const npy_intp three = 3;
  if (py_in_surface(py_state_of_module(module), &in, vertices, triangles) == 0 &&
      py_in_f64(&origin, origin_obj, "origin", 1, &three) == 0 &&
      py_in_f64(&direction, direction_obj, "direction", 1, &three) == 0) {
    rf_hit hit;
    PY_WITHOUT_GIL(hit = rf_surface_cast(&in.view, origin.data, direction.data));
    result = Py_BuildValue("idddd", hit.triangle, hit.distance, hit.barycentric[0],
                           hit.barycentric[1], hit.barycentric[2]);
  }
  py_surface_release(&in);
  PY_IN_RELEASE(&origin, &direction);
  return result;
}

static rf_status find_closest(const rf_closest *closest, const py_in *p, double bound,
                              const rf_run *run, rf_closest_place **out, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(*out, p->shape[0]);
  st = rf_closest_find_all(closest, p->shape[0], p->data, bound, run, *out, err);
done:
  return st;
}

PyDoc_STRVAR(
    closest_doc,
    "surface_closest($module, vertices, triangles, points, bound, /)\n--\n\n"
    "Tuple (distance (n,), place (n, 3), pseudonormal (n, 3), triangle (n,), feature (n,))\n"
    "nearest to points; feature: 0 face, 1 edge, 2 vertex; triangle -1: none within the\n"
    "bound.");
static PyObject *surface_closest(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *vertices, *triangles, *p_obj, *out[5] = {NULL}, *result = NULL;
  double bound;
  char text[32];
  if (!PyArg_ParseTuple(args, "OOOd:surface_closest", &vertices, &triangles, &p_obj, &bound))
    return NULL;
  if (!(bound >= 0.0)) {
    PyOS_snprintf(text, sizeof text, "%g", bound);
    return py_fail(state, PY_INPUT_ERROR, "bound must be 0 or more, got %s", text);
  }
  py_run run;
  if (py_run_init(state, &run, NULL, 1) < 0) return NULL;
  py_surface in = {0};
  py_in p = {0};
  if (py_in_surface(state, &in, vertices, triangles) == 0 &&
      py_in_f64(&p, p_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) == 0 &&
      (out[0] = py_new_f64(1, p.shape)) && (out[1] = py_new_f64(2, p.shape)) &&
      (out[2] = py_new_f64(2, p.shape)) && (out[3] = py_new_i32(1, p.shape)) &&
      (out[4] = py_new_i32(1, p.shape))) {
    double *distance_to = py_f64(out[0]), *place = py_f64(out[1]), *normal = py_f64(out[2]);
    int32_t *triangle = py_i32(out[3]), *feature = py_i32(out[4]);
    rf_closest *closest = NULL;
    rf_closest_place *found = NULL;
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_closest_create(&in.view, &run.run, &closest, &err);
    if (st == RF_OK) st = find_closest(closest, &p, bound, &run.run, &found, &err);
    for (npy_intp i = 0; st == RF_OK && i < p.shape[0]; ++i) {
      const rf_closest_place *at = &found[i];
      distance_to[i] = at->distance;
      memcpy(place + 3 * i, at->place, sizeof at->place);
      memcpy(normal + 3 * i, at->normal, sizeof at->normal);
      triangle[i] = at->triangle;
      feature[i] = (int32_t)at->feature;
    }
    rf_free(found);
    rf_closest_free(closest);
    Py_END_ALLOW_THREADS
    result = st < 0 ? py_raise(state, st, &err)
                    : PyTuple_Pack(5, out[0], out[1], out[2], out[3], out[4]);
  }
  for (int i = 0; i < 5; ++i) Py_XDECREF(out[i]);
  py_surface_release(&in);
  py_in_release(&p);
  return result;
}

PyDoc_STRVAR(crossings_doc,
             "surface_crossings($module, vertices, triangles, all, progress, threads, /)\n--\n\n"
             "Pairs of triangles that meet other than at common corners and sides, int32 (n, 2);\n"
             "without `all` only (any meet, any cross).");
static PyObject *surface_crossings(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *result = NULL;
  int all;
  py_run run;
  py_surface in = {0};
  if (PyArg_ParseTuple(args, "OOpOi:surface_crossings", PY_SURFACE_ARGS(in), &all,
                       PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0) {
    rf_crossings found = {0};
    rf_closest *closest = NULL;
    bool meet = false, cross = false;
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_closest_create(&in.view, &run.run, &closest, &err);
    if (st == RF_OK)
      st = all ? rf_crossings_find(&in.view, closest, &run.run, &found, &err)
               : rf_crossings_any(&in.view, closest, &run.run, &meet, &cross, &err);
    rf_closest_free(closest);
    Py_END_ALLOW_THREADS
    if (st < 0) {
      py_raise(state, st, &err);
    } else if (!all) {
      result = PyTuple_Pack(2, meet ? Py_True : Py_False, cross ? Py_True : Py_False);
    } else {
      result = py_new_i32(2, (npy_intp[]){(npy_intp)found.n, 2});
      if (result) memcpy(py_i32(result), found.pair, 2 * (size_t)found.n * sizeof *found.pair);
    }
    rf_crossings_free(&found);
  }
  py_surface_release(&in);
  return result;
}

PyDoc_STRVAR(bounds_solid_doc,
             "surface_bounds_solid($module, vertices, triangles, progress, threads, /)\n--\n\n"
             "True if a surface is closed, of one piece, and does not meet itself.");
static PyObject *surface_bounds_solid(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *result = NULL;
  py_run run;
  py_surface in = {0};
  if (PyArg_ParseTuple(args, "OOOi:surface_bounds_solid", PY_SURFACE_ARGS(in), PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0) {
    rf_closest *closest = NULL;
    bool solid = false;
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_closest_create(&in.view, &run.run, &closest, &err);
    if (st == RF_OK) st = rf_crossings_bound_solid(&in.view, closest, &run.run, &solid, &err);
    rf_closest_free(closest);
    Py_END_ALLOW_THREADS
    result = st < 0 ? py_raise(state, st, &err) : PyBool_FromLong(solid);
  }
  py_surface_release(&in);
  return result;
}

static PyMethodDef functions[] = {
    {"surface_seal", surface_seal, METH_VARARGS, seal_doc},
    {"surface_measure", surface_measure, METH_VARARGS, measure_doc},
    {"surface_normals", surface_normals, METH_VARARGS, surface_normals_doc},
    {"surface_cast", surface_cast, METH_VARARGS, cast_doc},
    {"surface_merge", surface_merge, METH_O, merge_doc},
    {"surface_crossings", surface_crossings, METH_VARARGS, crossings_doc},
    {"surface_bounds_solid", surface_bounds_solid, METH_VARARGS, bounds_solid_doc},
    {"surface_closest", surface_closest, METH_VARARGS, closest_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_surface_room = {.functions = functions};
