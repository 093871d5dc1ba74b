// Iso-surfaces of grids; points on level sets, and their uniformity.
#include <stdbool.h>
#include <string.h>

#include "pointshell/alternatives.h"
#include "pointshell/blend.h"
#include "pointshell/level_set.h"
#include "pointshell/measure.h"
#include "pointshell/order.h"
#include "pointshell/repulsion.h"
#include "pointshell/shell.h"
#include "pyext/py_convert.h"
#include "pyext/py_field.h"
#include "pyext/py_surface.h"
#include "sdf/isosurface.h"

// Converts a surface to arrays and frees it.
static PyObject *give_surface(rf_isosurface *s, bool with_closing) {
  PyObject *v = py_new_f64(2, (npy_intp[]){s->n_vertices, 3});
  PyObject *t = py_new_i32(2, (npy_intp[]){s->n_triangles, 3});
  PyObject *result = NULL;
  if (v && t) {
    memcpy(py_f64(v), s->vertices, 3 * (size_t)s->n_vertices * sizeof *s->vertices);
    memcpy(py_i32(t), s->triangles, 3 * (size_t)s->n_triangles * sizeof *s->triangles);
    result =
        with_closing ? Py_BuildValue("OOL", v, t, (long long)s->n_closing) : PyTuple_Pack(2, v, t);
  }
  PY_XDECREF(v, t);
  rf_isosurface_free(s);
  return result;
}

PyDoc_STRVAR(isosurface_doc,
             "isosurface($module, values, origin, spacing, value, progress, threads, /)\n--\n\n"
             "Closed surface where float32 samples have a value: vertices (v, 3), triangles "
             "(t, 3),\nnumber of vertices on the sides of the box.");
static PyObject *isosurface(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *values_obj, *origin_obj, *spacing_obj, *progress, *result = NULL;
  double value;
  int threads;
  if (!PyArg_ParseTuple(args, "OOOdOi:isosurface", &values_obj, &origin_obj, &spacing_obj, &value,
                        &progress, &threads))
    return NULL;
  py_run run;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  // other dtypes would be rounded
  if (!PyArray_Check(values_obj) || PyArray_TYPE((PyArrayObject *)values_obj) != NPY_FLOAT32)
    return py_fail(state, PY_INPUT_TYPE_ERROR, "values must be a float32 array");
  py_in values = {0}, origin = {0}, spacing = {0};
  const npy_intp three = 3;
  if (py_in_f32(&values, values_obj, "values", 3, (npy_intp[]){PY_ANY, PY_ANY, PY_ANY}) == 0 &&
      py_in_f64(&origin, origin_obj, "origin", 1, &three) == 0 &&
      py_in_f64(&spacing, spacing_obj, "spacing", 1, &three) == 0) {
    int32_t n[3];
    for (int c = 0; c < 3; ++c) n[c] = (int32_t)values.shape[c];
    rf_isosurface s = {0};
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_isosurface_create(n, origin.data, spacing.data, values.data, value,
                                             &run.run, &s, &err));
    result = st < 0 ? py_raise(state, st, &err) : give_surface(&s, true);
  }
  PY_IN_RELEASE(&values, &origin, &spacing);
  return result;
}

PyDoc_STRVAR(level_set_doc,
             "level_set($module, field, value, resolution, progress, threads, /)\n--\n\n"
             "Triangulated level set of a field: vertices (v, 3), triangles (t, 3).");
static PyObject *level_set(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *field_obj, *progress;
  double value;
  int resolution, threads;
  if (!PyArg_ParseTuple(args, "OdiOi:level_set", &field_obj, &value, &resolution, &progress,
                        &threads))
    return NULL;
  const rf_field *field = py_field_get(state, field_obj);
  py_run run;
  if (!field || py_run_init(state, &run, progress, threads) < 0) return NULL;
  rf_isosurface s = {0};
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_level_set_triangulate(field, value, resolution, &run.run, &s, &err));
  return st < 0 ? py_raise(state, st, &err) : give_surface(&s, false);
}

// Converts points (n, 3), 1 <= n.
static int take_points(py_state *state, py_in *in, PyObject *object, const char *name,
                       npy_intp rows) {
  if (py_in_f64(in, object, name, 2, (npy_intp[]){rows, 3}) < 0) return -1;
  if (in->shape[0] < 1) {
    py_fail(state, PY_INPUT_ERROR, "%s has 0 rows; at least one is needed", name);
    return -1;
  }
  return 0;
}

// ---- repulsion -----------------------------------------------------------------------

PyDoc_STRVAR(counts_doc,
             "shell_counts($module, points, levels, /)\n--\n\n"
             "Number of points of levels 0 to k, for each k, int32 (levels,).");
static PyObject *shell_counts(PyObject *module, PyObject *args) {
  int points, levels;
  if (!PyArg_ParseTuple(args, "ii:shell_counts", &points, &levels)) return NULL;
  int32_t counts[RF_SHELL_MAX_LEVELS];
  rf_error err = {0};
  const rf_status st = rf_repulsion_counts(points, levels, counts, &err);
  if (st < 0) return py_raise(py_state_of_module(module), st, &err);
  PyObject *result = py_new_i32(1, (npy_intp[]){levels});
  if (result) memcpy(py_i32(result), counts, (size_t)levels * sizeof *counts);
  return result;
}

PyDoc_STRVAR(
    create_doc,
    "shell_create($module, field, surface, resolution, points, levels, seed, level_set, rounds,\n"
    "             still, area_samples, progress, threads, /)\n--\n\n"
    "Points and inward normals (n, 3), areas (n,) or None, rounds and last motion of each level,\n"
    "number of points drawn again.  Field: None, for points on the surface; surface: a tuple of\n"
    "vertices and triangles that face outwards, or None.");
static PyObject *shell_create(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *field_obj, *surface_obj, *progress, *result = NULL;
  int threads;
  rf_shell_settings set = {0};
  unsigned long long seed;
  rf_repulsion_settings *r = &set.repulsion;
  if (!PyArg_ParseTuple(args, "OOiiiKdidiOi:shell_create", &field_obj, &surface_obj,
                        &set.resolution, &r->points, &r->levels, &seed, &r->level_set, &r->rounds,
                        &r->still, &set.area_samples, &progress, &threads))
    return NULL;
  r->seed = seed;
  const rf_field *field = NULL;
  if (field_obj != Py_None && !(field = py_field_get(state, field_obj))) return NULL;
  py_run run;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  const bool with_surface = surface_obj != Py_None;
  PyObject *vertices, *triangles;
  if (with_surface && !PyTuple_Check(surface_obj)) {
    py_fail(state, PY_INPUT_TYPE_ERROR,
            "surface must be a tuple of vertices and triangles, or None");
    return NULL;
  }
  py_surface in = {0};
  PyObject *x = NULL, *normals = NULL, *areas = NULL, *n_rounds = NULL, *motion = NULL;
  if (with_surface && (!PyArg_ParseTuple(surface_obj, "OO", &vertices, &triangles) ||
                       py_in_surface(state, &in, vertices, triangles) < 0))
    goto done;
  rf_error err = {0};
  int32_t counts[RF_SHELL_MAX_LEVELS];
  rf_status st = rf_repulsion_counts(r->points, r->levels, counts, &err);
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  x = py_new_f64(2, (npy_intp[]){r->points, 3});
  normals = py_new_f64(2, (npy_intp[]){r->points, 3});
  areas = set.area_samples > 0 ? py_new_f64(1, (npy_intp[]){r->points}) : Py_NewRef(Py_None);
  n_rounds = py_new_i32(1, (npy_intp[]){r->levels});
  motion = py_new_f64(1, (npy_intp[]){r->levels});
  if (!x || !normals || !areas || !n_rounds || !motion) goto done;
  rf_repulsion_report report;
  double *to = py_f64(x), *to_normals = py_f64(normals);
  double *to_areas = set.area_samples > 0 ? py_f64(areas) : NULL;
  PY_WITHOUT_GIL(st = rf_shell_create(field, with_surface ? &in.view : NULL, &set, &run.run, to,
                                      to_normals, to_areas, &report, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  memcpy(py_i32(n_rounds), report.rounds, (size_t)r->levels * sizeof *report.rounds);
  memcpy(py_f64(motion), report.motion, (size_t)r->levels * sizeof *report.motion);
  result = Py_BuildValue("OOOOOi", x, normals, areas, n_rounds, motion, (int)report.redrawn);

done:
  PY_XDECREF(x, normals, areas, n_rounds, motion);
  py_surface_release(&in);
  return result;
}

PyDoc_STRVAR(thinness_doc,
             "shell_thinness($module, field, vertices, triangles, level_set, depth, samples,\n"
             "               progress, threads, /)\n--\n\n"
             "Share of a surface's area where the field is at least level_set at a depth on both\n"
             "sides.");
static PyObject *shell_thinness(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *field_obj, *vertices, *triangles, *progress, *result = NULL;
  double level_set, depth;
  int samples, threads;
  if (!PyArg_ParseTuple(args, "OOOddiOi:shell_thinness", &field_obj, &vertices, &triangles,
                        &level_set, &depth, &samples, &progress, &threads))
    return NULL;
  const rf_field *field = py_field_get(state, field_obj);
  py_run run;
  if (!field || py_run_init(state, &run, progress, threads) < 0) return NULL;
  py_surface in = {0};
  if (py_in_surface(state, &in, vertices, triangles) == 0) {
    rf_error err = {0};
    rf_status st;
    double share;
    PY_WITHOUT_GIL(
        st = rf_shell_thinness(field, &in.view, level_set, depth, samples, &run.run, &share, &err));
    result = st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(share);
  }
  py_surface_release(&in);
  return result;
}

// ---- measures ------------------------------------------------------------------------

PyDoc_STRVAR(uniformity_doc,
             "shell_uniformity($module, vertices, triangles, field, level_set, points, normals,\n"
             "                 samples, progress, threads, /)\n--\n\n"
             "Tuple (spacing, mean, deviation, least, gap); all but the first in spacings. field:\n"
             "the one whose level set was triangulated, or None.");
static PyObject *shell_uniformity(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *field_obj, *points_obj, *normals_obj;
  PyObject *result = NULL;
  long long samples;
  rf_level_set level = {0};
  py_run run;
  py_surface in = {0};
  py_in points = {0}, normals = {0};
  if (PyArg_ParseTuple(args, "OOOdOOLOi:shell_uniformity", PY_SURFACE_ARGS(in), &field_obj,
                       &level.value, &points_obj, &normals_obj, &samples, PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0 &&
      (field_obj == Py_None || (level.field = py_field_get(state, field_obj))) &&
      take_points(state, &points, points_obj, "points", PY_ANY) == 0 &&
      take_points(state, &normals, normals_obj, "normals", points.shape[0]) == 0) {
    rf_error err = {0};
    rf_sampler sampler;
    rf_uniformity u;
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_sampler_create(&in.view, &run.run, &sampler, &err);
    if (st == RF_OK) {
      level.tolerance = 1e-6 * sampler.longest;
      st = rf_shell_uniformity(&sampler, level.field ? &level : NULL, (int32_t)points.shape[0],
                               points.data, normals.data, samples, &run.run, &u, &err);
      rf_sampler_free(&sampler);
    }
    Py_END_ALLOW_THREADS
    if (st < 0)
      py_raise(state, st, &err);
    else
      result = Py_BuildValue("ddddd", u.spacing, u.mean, u.deviation, u.least, u.gap);
  }
  py_surface_release(&in);
  PY_IN_RELEASE(&points, &normals);
  return result;
}

PyDoc_STRVAR(areas_doc,
             "shell_areas($module, vertices, triangles, points, normals, samples, seed, progress,\n"
             "            threads, /)\n--\n\n"
             "Area represented by each point, (n,).");
static PyObject *shell_areas(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *points_obj, *normals_obj, *result = NULL;
  int samples;
  unsigned long long seed;
  py_run run;
  py_surface in = {0};
  py_in points = {0}, normals = {0};
  if (PyArg_ParseTuple(args, "OOOOiKOi:shell_areas", PY_SURFACE_ARGS(in), &points_obj, &normals_obj,
                       &samples, &seed, PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0 &&
      take_points(state, &points, points_obj, "points", PY_ANY) == 0 &&
      take_points(state, &normals, normals_obj, "normals", points.shape[0]) == 0)
    result = py_new_f64(1, (npy_intp[]){points.shape[0]});
  if (result) {
    rf_error err = {0};
    rf_sampler sampler;
    rf_status st;
    double *to = py_f64(result);
    Py_BEGIN_ALLOW_THREADS
    st = rf_sampler_create(&in.view, &run.run, &sampler, &err);
    if (st == RF_OK) {
      st = rf_shell_areas(&sampler, (int32_t)points.shape[0], points.data, normals.data, samples,
                          seed, &run.run, to, &err);
      rf_sampler_free(&sampler);
    }
    Py_END_ALLOW_THREADS
    result = py_result(state, st, &err, result);
  }
  py_surface_release(&in);
  PY_IN_RELEASE(&points, &normals);
  return result;
}

// ---- other shells --------------------------------------------------------------------

// Converts a shell to arrays and frees it.
static PyObject *give_points(rf_shell_points *s) {
  PyObject *points = py_new_f64(2, (npy_intp[]){s->n, 3});
  PyObject *normals = py_new_f64(2, (npy_intp[]){s->n, 3});
  PyObject *result = NULL;
  if (points && normals) {
    memcpy(py_f64(points), s->points, 3 * (size_t)s->n * sizeof *s->points);
    memcpy(py_f64(normals), s->normals, 3 * (size_t)s->n * sizeof *s->normals);
    result = PyTuple_Pack(2, points, normals);
  }
  PY_XDECREF(points, normals);
  rf_shell_points_free(s);
  return result;
}

PyDoc_STRVAR(from_voxels_doc,
             "shell_from_voxels($module, vertices, triangles, resolution, expand, progress,\n"
             "                  threads, /)\n--\n\n"
             "Centres of the voxels that a surface touches, and inward normals (n, 3).");
static PyObject *shell_from_voxels(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *result = NULL;
  int resolution;
  double expand;
  py_run run;
  py_surface in = {0};
  if (PyArg_ParseTuple(args, "OOidOi:shell_from_voxels", PY_SURFACE_ARGS(in), &resolution, &expand,
                       PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0) {
    rf_shell_points s = {0};
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_shell_from_voxels(&in.view, resolution, expand, &run.run, &s, &err));
    result = st < 0 ? py_raise(state, st, &err) : give_points(&s);
  }
  py_surface_release(&in);
  return result;
}

PyDoc_STRVAR(from_depth_cube_doc,
             "shell_from_depth_cube($module, vertices, triangles, resolution, progress, threads,\n"
             "                      /)\n--\n\n"
             "Intersections of axis-parallel rays with a surface, and inward normals (n, 3).");
static PyObject *shell_from_depth_cube(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *result = NULL;
  int resolution;
  py_run run;
  py_surface in = {0};
  if (PyArg_ParseTuple(args, "OOiOi:shell_from_depth_cube", PY_SURFACE_ARGS(in), &resolution,
                       PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0) {
    rf_shell_points s = {0};
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_shell_from_depth_cube(&in.view, resolution, &run.run, &s, &err));
    result = st < 0 ? py_raise(state, st, &err) : give_points(&s);
  }
  py_surface_release(&in);
  return result;
}

PyDoc_STRVAR(normals_doc,
             "shell_normals($module, vertices, triangles, points, progress, threads, /)\n--\n\n"
             "Inward normals of the surface features nearest to points, (n, 3).");
static PyObject *shell_normals(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *points_obj, *result = NULL;
  py_run run;
  py_surface in = {0};
  py_in points = {0};
  if (PyArg_ParseTuple(args, "OOOOi:shell_normals", PY_SURFACE_ARGS(in), &points_obj,
                       PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0 &&
      take_points(state, &points, points_obj, "points", PY_ANY) == 0)
    result = py_new_f64(2, points.shape);
  if (result) {
    rf_error err = {0};
    rf_status st;
    double *to = py_f64(result);
    PY_WITHOUT_GIL(
        st = rf_shell_normals(&in.view, (int32_t)points.shape[0], points.data, &run.run, to, &err));
    result = py_result(state, st, &err, result);
  }
  py_surface_release(&in);
  py_in_release(&points);
  return result;
}

PyDoc_STRVAR(farthest_doc,
             "farthest_order($module, points, progress, threads, /)\n--\n\n"
             "Indices of points, each the farthest from those before, int32 (n,).");
static PyObject *farthest_order(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *points_obj, *progress, *result = NULL;
  int threads;
  if (!PyArg_ParseTuple(args, "OOi:farthest_order", &points_obj, &progress, &threads)) return NULL;
  py_run run;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  py_in points = {0};
  if (take_points(state, &points, points_obj, "points", PY_ANY) == 0)
    result = py_new_i32(1, &points.shape[0]);
  if (result) {
    rf_error err = {0};
    rf_status st;
    int32_t *to = py_i32(result);
    PY_WITHOUT_GIL(
        st = rf_farthest_order((int32_t)points.shape[0], points.data, &run.run, to, &err));
    result = py_result(state, st, &err, result);
  }
  py_in_release(&points);
  return result;
}

PyDoc_STRVAR(blend_doc,
             "shell_blend($module, points, outward, places, place_outward, threads, /)\n--\n\n"
             "Interpolation of values at points at other places of their surface: numbers of\n"
             "points, int32, and weights, (places, k) each.");
static PyObject *shell_blend(PyObject *module, PyObject *args) {
  static const char *const names[] = {"points", "outward", "places", "place_outward"};
  py_state *state = py_state_of_module(module);
  PyObject *object[4], *out[2] = {NULL}, *result = NULL;
  py_in in[4] = {{0}};
  rf_error err = {0};
  rf_status st;
  py_run run;
  int threads;
  if (!PyArg_ParseTuple(args, "OOOOi:shell_blend", object, object + 1, object + 2, object + 3,
                        &threads) ||
      py_run_init(state, &run, Py_None, threads) < 0)
    return NULL;
  for (int i = 0; i < 4; ++i)
    if (py_in_f64(in + i, object[i], names[i], 2,
                  (npy_intp[]){i % 2 ? in[i - 1].shape[0] : PY_ANY, 3}) < 0)
      goto done;
  if (in[0].shape[0] == 0) {
    py_fail(state, PY_INPUT_ERROR, "points is empty");
    goto done;
  }
  const rf_shell_blend_points points = {(int32_t)in[0].shape[0], in[0].data, in[1].data},
                              places = {(int32_t)in[2].shape[0], in[2].data, in[3].data};
  const npy_intp shape[] = {places.n, RF_SHELL_BLEND_NEAREST};
  out[0] = py_new_i32(2, shape);
  out[1] = py_new_f64(2, shape);
  if (!out[0] || !out[1]) goto done;
  int32_t *number = py_i32(out[0]);
  double *weight = py_f64(out[1]);
  PY_WITHOUT_GIL(st = rf_shell_blend(&points, &places, &run.run, number, weight, &err));
  result = st < 0 ? py_raise(state, st, &err) : PyTuple_Pack(2, out[0], out[1]);
done:
  for (int i = 0; i < 4; ++i) py_in_release(in + i);
  for (int i = 0; i < 2; ++i) Py_XDECREF(out[i]);
  return result;
}

static PyMethodDef functions[] = {
    {"isosurface", isosurface, METH_VARARGS, isosurface_doc},
    {"level_set", level_set, METH_VARARGS, level_set_doc},
    {"shell_blend", shell_blend, METH_VARARGS, blend_doc},
    {"shell_counts", shell_counts, METH_VARARGS, counts_doc},
    {"shell_create", shell_create, METH_VARARGS, create_doc},
    {"shell_thinness", shell_thinness, METH_VARARGS, thinness_doc},
    {"shell_uniformity", shell_uniformity, METH_VARARGS, uniformity_doc},
    {"shell_areas", shell_areas, METH_VARARGS, areas_doc},
    {"shell_from_voxels", shell_from_voxels, METH_VARARGS, from_voxels_doc},
    {"shell_from_depth_cube", shell_from_depth_cube, METH_VARARGS, from_depth_cube_doc},
    {"shell_normals", shell_normals, METH_VARARGS, normals_doc},
    {"farthest_order", farthest_order, METH_VARARGS, farthest_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_pointshell_room = {.functions = functions};
