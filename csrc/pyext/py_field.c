// The type _core.Field.  A grid belongs to the field it was made with; fields made of others keep
// those.
#include "pyext/py_field.h"

#include "base/alloc.h"
#include "pyext/py_convert.h"

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
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "O!d:Field", &PyTuple_Type, &fields, &offset)) return NULL;
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
             "field_from_values($module, values, origin, spacing, lipschitz, threads, /)\n--\n\n"
             "Field of samples (nx, ny, nz); lipschitz: they are those of a function that changes\n"
             "by no more than the distance.");
static PyObject *from_values(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *values_obj, *origin_obj, *spacing_obj, *result = NULL;
  int lipschitz;
  py_run run;
  int threads;
  if (!PyArg_ParseTuple(args, "OOOpi:field_from_values", &values_obj, &origin_obj, &spacing_obj,
                        &lipschitz, &threads) ||
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
    st = rf_grid_from_values(n, origin.data, spacing.data, values.data, lipschitz != 0, &run.run,
                             &grid, &err);
    Py_END_ALLOW_THREADS
    result = st < 0 ? py_raise(state, st, &err) : field_of_grid(state, grid);
  }
  py_in_release(&values);
  py_in_release(&origin);
  py_in_release(&spacing);
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

static PyMethodDef field_methods[] = {
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

static PyObject *get_lipschitz(PyObject *self, void *unused) {
  (void)unused;
  const rf_grid *g = ((py_field *)self)->grid;
  return PyBool_FromLong(!g || g->lipschitz);
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
    {"boundary", get_boundary, NULL, "Its smallest sample on the sides of the box, or None.", NULL},
    {"lipschitz", get_lipschitz, NULL,
     "Whether its samples are known to change by no more than the distance.", NULL},
    {"parts", get_parts, NULL, "Number of grids and shapes.", NULL},
    {0},
};

PyDoc_STRVAR(field_doc,
             "Field(fields, offset, /)\n--\n\n"
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

PyMethodDef py_field_functions[] = {
    {"field_from_values", from_values, METH_VARARGS, from_values_doc},
    {"field_from_shape", from_shape, METH_VARARGS, from_shape_doc},
    {NULL, NULL, 0, NULL},
};
