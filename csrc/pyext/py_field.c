// The type _core.Field.  A field made from samples owns its grid; one made of others keeps the
// owners of theirs.
#include "pyext/py_field.h"

#include <string.h>

#include "base/alloc.h"
#include "pyext/py_convert.h"
#include "pyext/py_filling.h"
#include "pyext/py_object.h"
#include "pyext/py_surface.h"
#include "sdf/build.h"

typedef struct py_field {
  py_object object;  // `kept`: tuple of the fields whose grids are used
  rf_grid *grid;     // owned, nullable
} py_field;

static const rf_field *self_field(PyObject *self) { return py_held(self); }
static const rf_grid *self_grid(PyObject *self) { return ((py_field *)self)->grid; }

static void release(void *field) { rf_field_free(field); }

const rf_field *py_field_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_FIELD, "field", "Field");
}

// Returns a new tuple of the owners of the grids of some fields, each once.  Keeping the owners
// avoids chains of fields that keep fields.
static PyObject *owners_of(PyObject *fields) {
  PyObject *owners = PyDict_New(), *result = NULL;  // keys in order of insertion
  for (Py_ssize_t i = 0; owners && i < PyTuple_GET_SIZE(fields); ++i) {
    PyObject *field = PyTuple_GET_ITEM(fields, i);
    PyObject *kept = ((py_object *)field)->kept;
    int bad = self_grid(field) ? PyDict_SetItem(owners, field, Py_None) : 0;
    for (Py_ssize_t k = 0; kept && k < PyTuple_GET_SIZE(kept) && bad == 0; ++k)
      bad = PyDict_SetItem(owners, PyTuple_GET_ITEM(kept, k), Py_None);
    if (bad < 0) Py_CLEAR(owners);
  }
  PyObject *list = owners ? PyDict_Keys(owners) : NULL;
  if (list) result = PyList_AsTuple(list);
  PY_XDECREF(list, owners);
  return result;
}

static PyObject *field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *fields, *self = NULL;
  const char *name = "union";
  double offset;
  int simd = RF_SIMD_BEST;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "O!d|is:Field", &PyTuple_Type, &fields, &offset, &simd, &name))
    return NULL;
  rf_error err = {0};
  rf_status st = rf_simd_check((rf_simd)simd, &err);
  if (st < 0) return py_raise(state, st, &err);
  static const char *const names[] = {[RF_FIELD_UNION] = "union",
                                      [RF_FIELD_INTERSECTION] = "intersection",
                                      [RF_FIELD_COMPLEMENT] = "complement"};
  int how = 0;
  while (how < 3 && strcmp(name, names[how]) != 0) ++how;
  if (how == 3)
    return py_fail(state, PY_INPUT_ERROR, "join must be union, intersection or complement, got %s",
                   name);
  const Py_ssize_t n = PyTuple_GET_SIZE(fields);
  if (n > RF_FIELD_MAX_PARTS)
    return py_fail(state, PY_INPUT_ERROR, "a field has 1 to %d parts, got %zd",
                   (int)RF_FIELD_MAX_PARTS, n);
  const rf_field **others = rf_alloc((size_t)n, sizeof *others);
  if (!others) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!(others[i] = py_field_get(state, PyTuple_GET_ITEM(fields, i)))) goto done;
  rf_field *field = NULL;
  PY_WITHOUT_GIL(
      st = rf_field_create_joined((int32_t)n, others, (rf_field_join)how, offset, &field, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  field->simd = rf_simd_resolve((rf_simd)simd);
  PyObject *owners = owners_of(fields);
  if (owners)
    self = py_object_new(type, field, release, owners);
  else
    rf_field_free(field);
  Py_XDECREF(owners);
done:
  rf_free((void *)others);
  return self;
}

static void field_dealloc(PyObject *self) {
  rf_grid *grid = ((py_field *)self)->grid;
  py_object_dealloc(self);
  rf_grid_free(grid);
}

// ---- making -----------------------------------------------------------------------

// Makes a field of a grid, taken over also on failure.
static PyObject *field_of_grid(py_state *state, rf_grid *grid) {
  const rf_field_part part = {.shape = RF_SHAPE_GRID, .grid = grid};
  rf_field *field = NULL;
  rf_error err = {0};
  const rf_status st = rf_field_create(1, &part, &field, &err);
  if (st < 0) {
    rf_grid_free(grid);
    return py_raise(state, st, &err);
  }
  PyObject *self = py_object_new(state->types[PY_FIELD], field, release, NULL);
  if (self)
    ((py_field *)self)->grid = grid;
  else
    rf_grid_free(grid);
  return self;
}

PyDoc_STRVAR(from_values_doc,
             "field_from_values($module, values, origin, spacing, error, threads, /)\n--\n\n"
             "Field of samples (nx, ny, nz) that differ from true distances by at most `error`;\n"
             "infinity: arbitrary samples.");
static PyObject *from_values(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *values_obj, *origin_obj, *spacing_obj, *result = NULL;
  double error;
  py_run run;
  int threads;
  if (!PyArg_ParseTuple(args, "OOOdi:field_from_values", &values_obj, &origin_obj, &spacing_obj,
                        &error, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  py_in values = {0}, origin = {0}, spacing = {0};
  const npy_intp three = 3;
  if (py_in_f32(&values, values_obj, "values", 3, (npy_intp[]){PY_ANY, PY_ANY, PY_ANY}) == 0 &&
      py_in_f64(&origin, origin_obj, "origin", 1, &three) == 0 &&
      py_in_f64(&spacing, spacing_obj, "spacing", 1, &three) == 0) {
    int32_t n[3];
    for (int c = 0; c < 3; ++c) n[c] = (int32_t)values.shape[c];
    rf_grid *grid = NULL;
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_grid_from_values(n, origin.data, spacing.data, values.data, error,
                                            &run.run, &grid, &err));
    result = st < 0 ? py_raise(state, st, &err) : field_of_grid(state, grid);
  }
  PY_IN_RELEASE(&values, &origin, &spacing);
  return result;
}

PyDoc_STRVAR(
    from_field_doc,
    "field_from_field($module, field, resolution, box, progress, threads, /)\n--\n\n"
    "Field of samples of another field. resolution: three ints, voxels; box: corners (2, 3).");
static PyObject *from_field(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *field_obj, *box_obj, *progress, *result = NULL;
  int voxels[3], threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "O(iii)OOi:field_from_field", &field_obj, &voxels[0], &voxels[1],
                        &voxels[2], &box_obj, &progress, &threads) ||
      py_run_init(state, &run, progress, threads) < 0)
    return NULL;
  const rf_field *field = py_field_get(state, field_obj);
  py_in box = {0};
  if (!field || py_in_f64(&box, box_obj, "box", 2, (npy_intp[]){2, 3}) < 0) return NULL;
  const double *low = box.data, *high = low + 3;
  double spacing[3];
  int32_t n[3];
  rf_error err = {0};
  rf_status st;
  for (int c = 0; c < 3; ++c) {
    if (!(low[c] < high[c])) {
      st = rf_fail(&err, RF_ERR_ARG, "box[0, %d] must be below box[1, %d], got %g and %g", c, c,
                   low[c], high[c]);
      py_raise(state, st, &err);
      goto done;
    }
    if (!(voxels[c] >= 1 && voxels[c] < INT32_MAX)) {
      py_fail(state, PY_INPUT_ERROR, "resolution must be at least 1, got %d", voxels[c]);
      goto done;
    }
    n[c] = voxels[c] + 1;
    spacing[c] = (high[c] - low[c]) / voxels[c];
  }
  rf_grid *grid = NULL;
  PY_WITHOUT_GIL(st = rf_grid_from_field(field, n, low, spacing, &run.run, &grid, &err));
  result = st < 0 ? py_raise(state, st, &err) : field_of_grid(state, grid);
done:
  py_in_release(&box);
  return result;
}

PyDoc_STRVAR(
    from_surface_doc,
    "field_from_surface($module, vertices, triangles, resolution, expand, box, offset, exact,"
    " memory, elsewhere, progress, threads, /)\n--\n\n"
    "Tuple (field, closed, turned, crossing, offset, parts left out, band, error, hidden\n"
    "triangles, depth error). resolution: three ints; box: corners (2, 3) or None; offset:\n"
    "a number or None; memory: bytes or 0; elsewhere: None, or a callable that fills all\n"
    "blocks of a `Filling`, called once for each pass over the samples.");
static PyObject *from_surface(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *vertices, *triangles, *box_obj, *offset_obj, *elsewhere, *progress, *result = NULL;
  rf_field_settings set = {0};
  int exact, threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "OO(iii)dOOpdOOi:field_from_surface", &vertices, &triangles,
                        &set.resolution[0], &set.resolution[1], &set.resolution[2], &set.expand,
                        &box_obj, &offset_obj, &exact, &set.memory, &elsewhere, &progress,
                        &threads) ||
      py_run_init(state, &run, progress, threads) < 0)
    return NULL;
  if (elsewhere != Py_None && !PyCallable_Check(elsewhere))
    return py_fail(state, PY_INPUT_TYPE_ERROR, "elsewhere must be a callable or None, got %s",
                   Py_TYPE(elsewhere)->tp_name);
  py_filling_call call = {state, elsewhere};
  if (elsewhere != Py_None) {
    set.elsewhere = py_filling_elsewhere;
    set.elsewhere_context = &call;
  }
  set.exact = exact != 0;
  set.fitted = box_obj == Py_None;
  set.automatic = offset_obj == Py_None;
  if (!set.automatic) {
    set.offset = PyFloat_AsDouble(offset_obj);
    if (set.offset == -1.0 && PyErr_Occurred()) return NULL;
  }
  py_surface in = {0};
  py_in box = {0};
  if (py_in_surface(state, &in, vertices, triangles) == 0 &&
      (set.fitted || py_in_f64(&box, box_obj, "box", 2, (npy_intp[]){2, 3}) == 0)) {
    for (int c = 0; c < 3 && !set.fitted; ++c) {
      set.low[c] = ((const double *)box.data)[c];
      set.high[c] = ((const double *)box.data)[3 + c];
    }
    rf_grid *grid = NULL;
    rf_field_report report;
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_grid_from_surface(&in.view, &set, &run.run, &grid, &report, &err));
    PyObject *field = st < 0 ? py_raise(state, st, &err) : field_of_grid(state, grid);
    if (field)
      result = Py_BuildValue(
          "(NNNNdiddidNiLLd)", field, PyBool_FromLong(report.closed),
          PyBool_FromLong(report.turned), PyBool_FromLong(report.crossing), report.offset,
          (int)report.n_removed, report.band, report.error, (int)report.n_hidden,
          report.depth_error, PyBool_FromLong(report.capped), (int)report.n_cap,
          (long long)report.n_inside, (long long)report.n_doubtful, report.sheets);
  }
  py_surface_release(&in);
  py_in_release(&box);
  return result;
}

PyDoc_STRVAR(from_shape_doc,
             "field_from_shape($module, shape, a, b, radius, /)\n--\n\n"
             "Field of a shape by its name; a, b and radius as in csrc/sdf/shape_*.h.");
static PyObject *from_shape(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *a_obj, *b_obj, *result = NULL;
  const char *name;
  rf_field_part part = {0};
  if (!PyArg_ParseTuple(args, "sOOd:field_from_shape", &name, &a_obj, &b_obj, &part.radius))
    return NULL;
  part.shape = rf_field_shape_named(name);
  if (part.shape == RF_SHAPE_GRID)
    return py_fail(state, PY_INPUT_ERROR, "shape must be the name of a shape, got %s", name);
  py_in a = {0}, b = {0};
  const npy_intp three = 3;
  if (py_in_f64(&a, a_obj, "a", 1, &three) == 0 && py_in_f64(&b, b_obj, "b", 1, &three) == 0) {
    for (int c = 0; c < 3; ++c) {
      part.a[c] = ((const double *)a.data)[c];
      part.b[c] = ((const double *)b.data)[c];
    }
    rf_field *field = NULL;
    rf_error err = {0};
    const rf_status st = rf_field_create(1, &part, &field, &err);
    result = st < 0 ? py_raise(state, st, &err)
                    : py_object_new(state->types[PY_FIELD], field, release, NULL);
  }
  PY_IN_RELEASE(&a, &b);
  return result;
}

// ---- queries ----------------------------------------------------------------------

PyDoc_STRVAR(distance_doc,
             "distance($self, points, threads, /)\n--\n\n"
             "Signed distances (n,) of points (n, 3).");
static PyObject *distance(PyObject *self, PyObject *args) {
  PyObject *points_obj;
  int threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "Oi:distance", &points_obj, &threads) ||
      py_run_init(py_state_of_object(self), &run, NULL, threads) < 0)
    return NULL;
  py_in points;
  if (py_in_points(&points, points_obj, "points") < 0) return NULL;
  PyObject *out = py_new_f64(1, points.shape);
  if (out) {
    double *to = py_f64(out);
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_field_evaluate(self_field(self), points.shape[0], points.data, to, NULL,
                                          &run.run, &err));
    out = py_result(py_state_of_object(self), st, &err, out);
  }
  py_in_release(&points);
  return out;
}

PyDoc_STRVAR(gradient_doc,
             "gradient($self, points, threads, /)\n--\n\n"
             "Tuple of signed distances (n,) and gradients (n, 3) of points (n, 3).");
static PyObject *gradient(PyObject *self, PyObject *args) {
  PyObject *points_obj, *result = NULL;
  int threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "Oi:gradient", &points_obj, &threads) ||
      py_run_init(py_state_of_object(self), &run, NULL, threads) < 0)
    return NULL;
  py_in points;
  if (py_in_points(&points, points_obj, "points") < 0) return NULL;
  PyObject *d = py_new_f64(1, points.shape), *g = d ? py_new_f64(2, points.shape) : NULL;
  if (g) {
    double *to_d = py_f64(d), *to_g = py_f64(g);
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_field_evaluate(self_field(self), points.shape[0], points.data, to_d,
                                          to_g, &run.run, &err));
    result = st < 0 ? py_raise(py_state_of_object(self), st, &err) : PyTuple_Pack(2, d, g);
  }
  PY_XDECREF(d, g);
  py_in_release(&points);
  return result;
}

PyDoc_STRVAR(
    slack_doc,
    "slack($self, distances, radii, /)\n--\n\n"
    "Bounds for culling of balls (n,): with a positive one the ball does not touch, nor does\n"
    "it after moving and growing by less than the bound.");
static PyObject *slack(PyObject *self, PyObject *args) {
  PyObject *d_obj, *r_obj, *out = NULL;
  if (!PyArg_ParseTuple(args, "OO:slack", &d_obj, &r_obj)) return NULL;
  py_in d = {0}, r = {0};
  if (py_in_f64(&d, d_obj, "distances", 1, (npy_intp[]){PY_ANY}) == 0 &&
      py_in_f64(&r, r_obj, "radii", 1, d.shape) == 0 && (out = py_new_f64(1, d.shape))) {
    const rf_field *f = self_field(self);
    const double *dp = d.data, *rp = r.data;
    double *to = py_f64(out);
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp i = 0; i < d.shape[0]; ++i) to[i] = rf_field_slack_rt(f, dp[i], rp[i]);
    Py_END_ALLOW_THREADS
  }
  PY_IN_RELEASE(&d, &r);
  return out;
}

PyDoc_STRVAR(time_doc,
             "time_distances($self, points, repeats, one_by_one, /)\n--\n\n"
             "Seconds (repeats,) of evaluations of all distances on one core.");
static PyObject *time_distances(PyObject *self, PyObject *args) {
  PyObject *points_obj, *out = NULL;
  int repeats, one_by_one;
  if (!PyArg_ParseTuple(args, "Oip:time_distances", &points_obj, &repeats, &one_by_one))
    return NULL;
  py_in points;
  if (py_in_points(&points, points_obj, "points") < 0) return NULL;
  const npy_intp n = points.shape[0];
  double *distance_to = NULL;
  if (!(repeats >= 1 && repeats <= 1000000))
    py_fail(py_state_of_object(self), PY_INPUT_ERROR,
            "repeats must be between 1 and 1000000, got %d", repeats);
  else if (!(distance_to = rf_alloc((size_t)n, sizeof *distance_to)))
    PyErr_NoMemory();
  else
    out = py_new_f64(1, (npy_intp[]){repeats});
  if (out) {
    const rf_field *f = self_field(self);
    const double *p = points.data;
    double *seconds = py_f64(out);
    Py_BEGIN_ALLOW_THREADS
    for (int r = 0; r < repeats; ++r) {
      const double start = py_now_s();
      if (one_by_one)
        for (npy_intp i = 0; i < n; ++i) distance_to[i] = rf_field_distance_rt(f, p + 3 * i);
      else
        rf_field_distances_rt(f, (int32_t)n, p, distance_to);
      seconds[r] = py_now_s() - start;
    }
    Py_END_ALLOW_THREADS
  }
  rf_free(distance_to);
  py_in_release(&points);
  return out;
}

static PyMethodDef field_methods[] = {
    {"time_distances", time_distances, METH_VARARGS, time_doc},
    {"distance", distance, METH_VARARGS, distance_doc},
    {"gradient", gradient, METH_VARARGS, gradient_doc},
    {"slack", slack, METH_VARARGS, slack_doc},
    {NULL, NULL, 0, NULL},
};

// ---- properties ----------------------------------------------------------------------

static PyObject *get_values(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = self_grid(self);
  if (!g) Py_RETURN_NONE;
  return py_view_f32(self, g->values, 3, (npy_intp[]){g->n[0], g->n[1], g->n[2]});
}

static PyObject *get_origin(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = self_grid(self);
  if (!g) Py_RETURN_NONE;
  return py_view_f64(self, g->origin, 1, (npy_intp[]){3});
}

static PyObject *get_spacing(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = self_grid(self);
  if (!g) Py_RETURN_NONE;
  return py_view_f64(self, g->spacing, 1, (npy_intp[]){3});
}

static PyObject *get_boundary(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = self_grid(self);
  if (!g) Py_RETURN_NONE;
  return PyFloat_FromDouble(g->boundary);
}

static PyObject *get_error(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = self_grid(self);
  return PyFloat_FromDouble(g ? g->error : 0.0);
}

PY_GETTER(get_parts, self, rf_field, f, PyLong_FromLong(f->n_parts))

static PyObject *get_bounds(PyObject *self, void *unused) {
  (void)unused;
  PyObject *out = py_new_f64(2, (npy_intp[]){2, 3});
  if (out) rf_field_bounds(self_field(self), 0.0, py_f64(out), py_f64(out) + 3);
  return out;
}

static PyGetSetDef field_getset[] = {
    {"bounds", get_bounds, NULL, "Corners (2, 3) of a box that holds what is inside.", NULL},
    {"values", get_values, NULL, "Samples of a grid, read-only float32 (nx, ny, nz), or None.",
     NULL},
    {"origin", get_origin, NULL, "Place of its first sample, read-only (3,), or None.", NULL},
    {"spacing", get_spacing, NULL, "Its spacing, read-only (3,), or None.", NULL},
    {"boundary", get_boundary, NULL,
     "Lower bound of the distance on the sides of its box, or None.", NULL},
    {"error", get_error, NULL, "Error bound of its samples as distances [m]; infinity: none.",
     NULL},
    {"parts", get_parts, NULL, "Number of grids and shapes.", NULL},
    {0},
};

PyDoc_STRVAR(
    field_doc,
    "Field(fields, offset, simd=0, join='union', /)\n--\n\n"
    "Signed distances: the smallest of a tuple of fields ('intersection': the largest;\n"
    "'complement': minus that of one), less an offset; the public face is reducedfem.Field.");

static PyType_Spec spec = PY_SPEC_KEEPING(
    "Field", py_field, {Py_tp_new, field_new}, {Py_tp_dealloc, field_dealloc},
    {Py_tp_getset, field_getset}, {Py_tp_methods, field_methods}, {Py_tp_doc, (void *)field_doc});

static PyMethodDef functions[] = {
    {"field_from_values", from_values, METH_VARARGS, from_values_doc},
    {"field_from_field", from_field, METH_VARARGS, from_field_doc},
    {"field_from_surface", from_surface, METH_VARARGS, from_surface_doc},
    {"field_from_shape", from_shape, METH_VARARGS, from_shape_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_field_room = {.types = {{PY_FIELD, &spec}}, .functions = functions};
