// The type _core.Field.  A grid belongs to the field it was made with; fields made of others keep
// those.
#include "pyext/py_field.h"

#include "base/alloc.h"
#include "mesh/closest.h"
#include "pyext/py_convert.h"
#include "sdf/build.h"

typedef struct py_field {
  PyObject_HEAD rf_field *field;
  rf_grid *grid;     // nullable
  PyObject *others;  // tuple of the fields whose grids are used; nullable
} py_field;

static const rf_field *self_field(PyObject *self) { return ((py_field *)self)->field; }

const rf_field *py_field_get(py_state *state, PyObject *object) {
  const int bad = py_require_type(state, object, PY_FIELD, "field", "Field");
  return bad < 0 ? NULL : self_field(object);
}

// takes field, grid and others over, also on failure
static PyObject *wrap(PyTypeObject *type, rf_field *field, rf_grid *grid, PyObject *others) {
  PyObject *self = type->tp_alloc(type, 0);
  if (!self) {
    rf_field_free(field);
    rf_grid_free(grid);
    Py_XDECREF(others);
    return NULL;
  }
  py_field *f = (py_field *)self;
  f->field = field;
  f->grid = grid;
  f->others = others;
  return self;
}

// the parts of some fields, each with a further offset; count is set
static rf_field_part *joined_parts(py_state *state, PyObject *others, double offset,
                                   Py_ssize_t *count) {
  *count = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(others); ++i) {
    const rf_field *f = py_field_get(state, PyTuple_GET_ITEM(others, i));
    if (!f) return NULL;
    *count += f->n_parts;
  }
  if (*count < 1 || *count > RF_FIELD_MAX_PARTS) {
    py_fail(state, "InputError", "a field has 1 to %d parts, got %zd", (int)RF_FIELD_MAX_PARTS,
            *count);
    return NULL;
  }
  rf_field_part *parts = rf_alloc((size_t)*count, sizeof *parts);
  if (!parts) {
    PyErr_NoMemory();
    return NULL;
  }
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(others); ++i) {
    const rf_field *f = self_field(PyTuple_GET_ITEM(others, i));
    for (int32_t k = 0; k < f->n_parts; ++k) {
      parts[at] = f->parts[k];
      parts[at++].offset += offset;
    }
  }
  return parts;
}

static PyObject *field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *fields;
  double offset;
  int simd = RF_SIMD_BEST;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "O!d|i:Field", &PyTuple_Type, &fields, &offset, &simd)) return NULL;
  if (simd != RF_SIMD_BEST && !rf_simd_available((rf_simd)simd))
    return py_fail(state, "InputError", "simd must be one this processor has, got %d", simd);
  Py_ssize_t count;
  rf_field_part *parts = joined_parts(state, fields, offset, &count);
  if (!parts) return NULL;
  rf_field *field = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_field_create((int32_t)count, parts, &field, &err);
  Py_END_ALLOW_THREADS
  rf_free(parts);
  if (st < 0) return py_raise(state, st, &err);
  field->simd = rf_simd_resolve((rf_simd)simd);
  Py_INCREF(fields);
  return wrap(type, field, NULL, fields);
}

static int field_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((py_field *)self)->others);
  return 0;
}

static int field_clear(PyObject *self) {
  (void)self;  // fields are made of older ones: no circle to break
  return 0;
}

static void field_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  py_field *f = (py_field *)self;
  rf_field_free(f->field);
  rf_grid_free(f->grid);
  Py_CLEAR(f->others);
  type->tp_free(self);
  Py_DECREF(type);
}

// ---- making -----------------------------------------------------------------------

// takes the grid over, also on failure
static PyObject *field_of_grid(py_state *state, rf_grid *grid) {
  const rf_field_part part = {.shape = RF_SHAPE_GRID, .grid = grid};
  rf_field *field = NULL;
  rf_error err = {0};
  const rf_status st = rf_field_create(1, &part, &field, &err);
  if (st < 0) {
    rf_grid_free(grid);
    return py_raise(state, st, &err);
  }
  return wrap(state->types[PY_FIELD], field, grid, NULL);
}

PyDoc_STRVAR(from_values_doc,
             "field_from_values($module, values, origin, spacing, error, threads, /)\n--\n\n"
             "Field of samples (nx, ny, nz), which are off from distances by the error at most;\n"
             "infinity: any samples.");
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
    for (int c = 0; c < 3; ++c)
      n[c] = values.shape[c] < INT32_MAX ? (int32_t)values.shape[c] : INT32_MAX;
    rf_grid *grid = NULL;
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_grid_from_values(n, origin.data, spacing.data, values.data, error, &run.run, &grid,
                             &err);
    Py_END_ALLOW_THREADS
    result = st < 0 ? py_raise(state, st, &err) : field_of_grid(state, grid);
  }
  py_in_release(&values);
  py_in_release(&origin);
  py_in_release(&spacing);
  return result;
}

PyDoc_STRVAR(
    from_surface_doc,
    "field_from_surface($module, vertices, triangles, resolution, expand, box, offset, exact,"
    " memory, progress, threads, /)\n--\n\n"
    "Tuple (field, closed, turned, crossing, offset, parts left out, band, error, hidden\n"
    "triangles, error of depths). resolution: three ints; box: corners (2, 3) or None; offset: a\n"
    "number or None; memory: bytes or 0.");
static PyObject *from_surface(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *v_obj, *t_obj, *box_obj, *offset_obj, *progress, *result = NULL;
  rf_field_settings set = {0};
  int exact, threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "OO(iii)dOOpdOi:field_from_surface", &v_obj, &t_obj,
                        &set.resolution[0], &set.resolution[1], &set.resolution[2], &set.expand,
                        &box_obj, &offset_obj, &exact, &set.memory, &progress, &threads) ||
      py_run_init(state, &run, progress, threads) < 0)
    return NULL;
  set.exact = exact != 0;
  set.fitted = box_obj == Py_None;
  set.automatic = offset_obj == Py_None;
  if (!set.automatic) {
    set.offset = PyFloat_AsDouble(offset_obj);
    if (set.offset == -1.0 && PyErr_Occurred()) return NULL;
  }
  py_in v = {0}, t = {0}, box = {0};
  if (py_in_f64(&v, v_obj, "vertices", 2, (npy_intp[]){PY_ANY, 3}) == 0 &&
      py_in_i32(&t, t_obj, "triangles", 2, (npy_intp[]){PY_ANY, 3}, 0, INT32_MAX) == 0 &&
      (set.fitted || py_in_f64(&box, box_obj, "box", 2, (npy_intp[]){2, 3}) == 0)) {
    for (int c = 0; c < 3 && !set.fitted; ++c) {
      set.low[c] = ((const double *)box.data)[c];
      set.high[c] = ((const double *)box.data)[3 + c];
    }
    if (v.shape[0] > INT32_MAX || t.shape[0] > INT32_MAX) {
      py_fail(state, "MeshError", "a surface has at most %d vertices and triangles",
              (int)INT32_MAX);
    } else {
      const rf_surface surface = {(int32_t)v.shape[0], (int32_t)t.shape[0], v.data, t.data};
      rf_grid *grid = NULL;
      rf_field_report report;
      rf_error err = {0};
      rf_status st;
      Py_BEGIN_ALLOW_THREADS
      st = rf_grid_from_surface(&surface, &set, &run.run, &grid, &report, &err);
      Py_END_ALLOW_THREADS
      PyObject *field = st < 0 ? py_raise(state, st, &err) : field_of_grid(state, grid);
      if (field)
        result = Py_BuildValue("(NNNNdiddid)", field, PyBool_FromLong(report.closed),
                               PyBool_FromLong(report.turned), PyBool_FromLong(report.crossing),
                               report.offset, (int)report.n_removed, report.band, report.error,
                               (int)report.n_hidden, report.depth_error);
    }
  }
  py_in_release(&v);
  py_in_release(&t);
  py_in_release(&box);
  return result;
}

PyDoc_STRVAR(from_shape_doc,
             "field_from_shape($module, shape, a, b, radius, /)\n--\n\n"
             "Field with a formula: 'sphere' (a: centre), 'box' (corners), 'plane' (point, unit\n"
             "normal) or 'capsule' (ends).");
static PyObject *from_shape(PyObject *module, PyObject *args) {
  static const char *const names[] = {
      [RF_SHAPE_SPHERE] = "sphere",
      [RF_SHAPE_BOX] = "box",
      [RF_SHAPE_PLANE] = "plane",
      [RF_SHAPE_CAPSULE] = "capsule",
  };
  py_state *state = py_state_of_module(module);
  PyObject *a_obj, *b_obj, *result = NULL;
  const char *name;
  rf_field_part part = {0};
  if (!PyArg_ParseTuple(args, "sOOd:field_from_shape", &name, &a_obj, &b_obj, &part.radius))
    return NULL;
  for (size_t s = RF_SHAPE_SPHERE; s < sizeof names / sizeof *names; ++s)
    if (strcmp(name, names[s]) == 0) part.shape = (rf_shape)s;
  if (part.shape == RF_SHAPE_GRID)
    return py_fail(state, "InputError", "shape must be sphere, box, plane or capsule, got %s",
                   name);
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
    result = st < 0 ? py_raise(state, st, &err) : wrap(state->types[PY_FIELD], field, NULL, NULL);
  }
  py_in_release(&a);
  py_in_release(&b);
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
  if (py_in_f64(&points, points_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) < 0) return NULL;
  PyObject *out = py_new_f64(1, points.shape);
  if (out) {
    double *to = py_f64(out);
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st =
        rf_field_evaluate(self_field(self), points.shape[0], points.data, to, NULL, &run.run, &err);
    Py_END_ALLOW_THREADS
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
  if (py_in_f64(&points, points_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) < 0) return NULL;
  PyObject *d = py_new_f64(1, points.shape), *g = d ? py_new_f64(2, points.shape) : NULL;
  if (g) {
    double *to_d = py_f64(d), *to_g = py_f64(g);
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_field_evaluate(self_field(self), points.shape[0], points.data, to_d, to_g, &run.run,
                           &err);
    Py_END_ALLOW_THREADS
    result = st < 0 ? py_raise(py_state_of_object(self), st, &err) : PyTuple_Pack(2, d, g);
  }
  Py_XDECREF(d);
  Py_XDECREF(g);
  py_in_release(&points);
  return result;
}

PyDoc_STRVAR(slack_doc,
             "slack($self, distances, radii, /)\n--\n\n"
             "How far balls around places with these distances are from being touched, (n,).");
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
  py_in_release(&d);
  py_in_release(&r);
  return out;
}

PyDoc_STRVAR(time_doc,
             "time_distances($self, points, repeats, one_by_one, /)\n--\n\n"
             "Seconds of each repetition of all distances, on one core (repeats,).");
static PyObject *time_distances(PyObject *self, PyObject *args) {
  PyObject *points_obj, *out = NULL;
  int repeats, one_by_one;
  if (!PyArg_ParseTuple(args, "Oip:time_distances", &points_obj, &repeats, &one_by_one))
    return NULL;
  py_in points;
  if (py_in_f64(&points, points_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) < 0) return NULL;
  const npy_intp n = points.shape[0];
  double *distance_to = NULL;
  if (n > INT32_MAX || repeats < 1 || repeats > 1000000)
    py_fail(py_state_of_object(self), "InputError", "too many points or repeats");
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

// ---- what it is ---------------------------------------------------------------------

static PyObject *get_values(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = ((py_field *)self)->grid;
  if (!g) Py_RETURN_NONE;
  return py_view_f32(self, g->values, 3, (npy_intp[]){g->n[0], g->n[1], g->n[2]});
}

static PyObject *get_origin(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = ((py_field *)self)->grid;
  if (!g) Py_RETURN_NONE;
  return py_view_f64(self, g->origin, 1, (npy_intp[]){3});
}

static PyObject *get_spacing(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = ((py_field *)self)->grid;
  if (!g) Py_RETURN_NONE;
  return py_view_f64(self, g->spacing, 1, (npy_intp[]){3});
}

static PyObject *get_boundary(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = ((py_field *)self)->grid;
  if (!g) Py_RETURN_NONE;
  return PyFloat_FromDouble(g->boundary);
}

static PyObject *get_error(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = ((py_field *)self)->grid;
  return PyFloat_FromDouble(g ? g->error : 0.0);
}

static PyObject *get_parts(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLong(self_field(self)->n_parts);
}

static PyGetSetDef field_getset[] = {
    {"values", get_values, NULL, "Samples of a grid, read-only float32 (nx, ny, nz), or None.",
     NULL},
    {"origin", get_origin, NULL, "Place of its first sample, read-only (3,), or None.", NULL},
    {"spacing", get_spacing, NULL, "Its spacing, read-only (3,), or None.", NULL},
    {"boundary", get_boundary, NULL, "No place on the sides of its box is nearer, or None.", NULL},
    {"error", get_error, NULL, "How far its samples may be from distances; infinity: any.", NULL},
    {"parts", get_parts, NULL, "Number of grids and shapes.", NULL},
    {0},
};

PyDoc_STRVAR(field_doc,
             "Field(fields, offset, simd=0, /)\n--\n\n"
             "Signed distances: the smallest of those of a tuple of fields, less an offset; the\n"
             "public face is reducedfem.Field.");

static PyType_Slot field_slots[] = {
    {Py_tp_new, field_new},           {Py_tp_dealloc, field_dealloc},
    {Py_tp_traverse, field_traverse}, {Py_tp_clear, field_clear},
    {Py_tp_getset, field_getset},     {Py_tp_methods, field_methods},
    {Py_tp_doc, (void *)field_doc},   {0, NULL},
};

PyType_Spec py_field_spec = {
    .name = "reducedfem._core.Field",
    .basicsize = sizeof(py_field),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = field_slots,
};

// ---- nearest places -----------------------------------------------------------------

PyDoc_STRVAR(
    closest_doc,
    "surface_closest($module, vertices, triangles, points, bound, /)\n--\n\n"
    "Tuple (distance (n,), place (n, 3), pseudonormal (n, 3), triangle (n,), feature (n,))\n"
    "of what is nearest to points; feature: 0 face, 1 edge, 2 vertex; triangle -1: nothing\n"
    "is within the bound.");
static PyObject *surface_closest(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *v_obj, *t_obj, *p_obj, *out[5] = {NULL}, *result = NULL;
  double bound;
  if (!PyArg_ParseTuple(args, "OOOd:surface_closest", &v_obj, &t_obj, &p_obj, &bound)) return NULL;
  py_in v = {0}, t = {0}, p = {0};
  if (py_in_f64(&v, v_obj, "vertices", 2, (npy_intp[]){PY_ANY, 3}) == 0 &&
      py_in_i32(&t, t_obj, "triangles", 2, (npy_intp[]){PY_ANY, 3}, 0, INT32_MAX) == 0 &&
      py_in_f64(&p, p_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) == 0 &&
      (out[0] = py_new_f64(1, p.shape)) && (out[1] = py_new_f64(2, p.shape)) &&
      (out[2] = py_new_f64(2, p.shape)) && (out[3] = py_new_i32(1, p.shape)) &&
      (out[4] = py_new_i32(1, p.shape))) {
    const rf_surface surface = {(int32_t)v.shape[0], (int32_t)t.shape[0], v.data, t.data};
    double *distance_to = py_f64(out[0]), *place = py_f64(out[1]), *normal = py_f64(out[2]);
    int32_t *triangle = py_i32(out[3]), *feature = py_i32(out[4]);
    rf_closest *closest = NULL;
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_surface_check(&surface, &err);
    if (st == RF_OK) st = rf_closest_create(&surface, &closest, &err);
    for (npy_intp i = 0; st == RF_OK && i < p.shape[0]; ++i) {
      rf_closest_place at = {.distance = bound, .triangle = -1};
      rf_closest_find(closest, (const double *)p.data + 3 * i, bound, &at);
      distance_to[i] = at.distance;
      memcpy(place + 3 * i, at.place, sizeof at.place);
      memcpy(normal + 3 * i, at.normal, sizeof at.normal);
      triangle[i] = at.triangle;
      feature[i] = (int32_t)at.feature;
    }
    rf_closest_free(closest);
    Py_END_ALLOW_THREADS
    result = st < 0 ? py_raise(state, st, &err)
                    : PyTuple_Pack(5, out[0], out[1], out[2], out[3], out[4]);
  }
  for (int i = 0; i < 5; ++i) Py_XDECREF(out[i]);
  py_in_release(&v);
  py_in_release(&t);
  py_in_release(&p);
  return result;
}

PyMethodDef py_field_functions[] = {
    {"surface_closest", surface_closest, METH_VARARGS, closest_doc},
    {"field_from_values", from_values, METH_VARARGS, from_values_doc},
    {"field_from_surface", from_surface, METH_VARARGS, from_surface_doc},
    {"field_from_shape", from_shape, METH_VARARGS, from_shape_doc},
    {NULL, NULL, 0, NULL},
};
