// Control elements: solids moved by handles, solved in advance.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "green/control.h"
#include "pyext/py_convert.h"
#include "pyext/py_object.h"
#include "pyext/py_solid.h"

static const double DEGREES = 57.29577951308232;
static const double MOST_APART = 150.0 / 57.29577951308232;  // rad, of forces of order 1

// Converts `handles`, (ptr, nodes).
static int handles_in(PyObject *ptr_obj, PyObject *nodes_obj, py_in *ptr, py_in *nodes,
                      rf_control_settings *set, py_state *state) {
  if (py_in_i32(ptr, ptr_obj, "ptr", 1, (npy_intp[]){PY_ANY}, 0, INT32_MAX) < 0 ||
      py_in_i32(nodes, nodes_obj, "handles", 1, (npy_intp[]){PY_ANY}, 0, INT32_MAX) < 0)
    return -1;
  const int32_t *const at = ptr->data;
  const npy_intp n = ptr->shape[0] - 1;
  bool good = n >= 1 && at[0] == 0 && at[n] == nodes->shape[0];
  for (npy_intp k = 0; good && k < n; ++k) good = at[k] <= at[k + 1];
  if (!good) {
    py_fail(state, PY_INPUT_ERROR, "ptr must ascend from 0 to the number of nodes");
    return -1;
  }
  set->n_handles = (int32_t)n;
  set->ptr = at;
  set->nodes = nodes->data;
  return 0;
}

static void release(void *held) { rf_control_free(held); }

static PyObject *control_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *solid_obj, *ptr_obj, *nodes_obj, *surface_obj, *progress;
  py_in ptr = {0}, nodes = {0}, surface = {0};
  rf_control_settings set = {0};
  rf_control *control = NULL;
  PyObject *result = NULL;
  int single, simd, threads;
  py_run r;
  rf_error err = {0};
  rf_status st;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOOipiOi:ControlElements", &solid_obj, &ptr_obj, &nodes_obj,
                        &surface_obj, &set.order, &single, &simd, &progress, &threads))
    return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &r, progress, threads) < 0) return NULL;
  if (handles_in(ptr_obj, nodes_obj, &ptr, &nodes, &set, state) < 0 ||
      py_in_i32(&surface, surface_obj, "surface_nodes", 1, (npy_intp[]){PY_ANY}, 0, INT32_MAX) < 0)
    goto done;
  set.surface = surface.data;
  set.n_surface = (int32_t)surface.shape[0];
  set.single = single;
  set.simd = (rf_simd)simd;
  PY_WITHOUT_GIL(st = rf_control_create(solid, &set, &r.run, &control, &err));
  result = st < 0 ? py_raise(state, st, &err) : py_object_new(type, control, release, NULL);
done:
  PY_IN_RELEASE(&ptr, &nodes, &surface);
  return result;
}

static PyObject *refuse(py_state *state, const rf_control *control, rf_control_end end,
                        const rf_control_state *s) {
  char text[64];
  switch (end) {
    case RF_CONTROL_NO_FIT:
      return py_fail(state, PY_INPUT_ERROR,
                     "c has no best rotation: it flattens or mirrors the handles; move them less, "
                     "or pass rotation=None");
    case RF_CONTROL_NOT_RIGID:
      return py_fail(state, PY_INPUT_ERROR,
                     "c deforms handles[%d]: of order %d every handle moves rigidly, 1 + M is a "
                     "rotation to within 1e-6; make the parameters of a quaternion, or use order 1",
                     (int)s->handle, control->order);
    case RF_CONTROL_FAR:
      return py_fail(state, PY_INPUT_ERROR,
                     "c turns the handles so far from each other that they have no mean rotation; "
                     "turn them by less than pi");
    default:
      snprintf(text, sizeof text, "%.4g", s->radius);
      return py_fail(state, PY_INPUT_ERROR,
                     "c is beyond the radius of the series of order %d, which was found to "
                     "converge up to %s times this motion; move the handles less, or use order 1 "
                     "or Solid.solve_static",
                     control->order, text);
  }
}

// Converts c and computes its state: 0, or -1 with an exception set and nothing to release.
static int state_in(PyObject *self, PyObject *c_obj, int rotation, py_in *c, rf_control_state *s) {
  const rf_control *control = py_held(self);
  const npy_intp n = RF_CONTROL_PARAMETERS * control->n_handles;
  if (py_in_f64(c, c_obj, "c", 1, &n) < 0) return -1;
  const rf_control_end end =
      rf_control_state_rt(control, rotation ? RF_CONTROL_FIT : RF_CONTROL_REST, c->data, s);
  if (end == RF_CONTROL_DONE) return 0;
  refuse(py_state_of_object(self), control, end, s);
  py_in_release(c);
  return -1;
}

// Rotations of the groups with extraction of order 1, else zero.
static rf_control_turns turns_of(const rf_control *control, int rotation,
                                 const rf_control_state *s) {
  return rotation && control->order == 1 ? rf_control_turns_rt(control, s) : (rf_control_turns){0};
}

static PyObject *turns_out(rf_control_turns turns) {
  return Py_BuildValue("ddii", turns.most, DEGREES * turns.apart, (int)turns.pair[0],
                       (int)turns.pair[1]);
}

// Refuses rotations beyond which forces and energies of order 1 jump: 0, or -1 with an exception.
static int check_turns(PyObject *self, rf_control_turns turns) {
  const rf_control *control = py_held(self);
  char other[32] = "the fixed nodes";
  if (!(turns.apart > MOST_APART)) return 0;
  if (turns.pair[1] < control->n_handles)
    snprintf(other, sizeof other, "handles[%d]", (int)turns.pair[1]);
  py_fail(py_state_of_object(self), PY_INPUT_ERROR,
          "c turns handles[%d] by %d degrees relative to %s: forces of order 1 have no meaning "
          "beyond %d, and jump at 180; turn them less, or use order 2 or 3, or CompositeBody",
          (int)turns.pair[0], (int)lround(DEGREES * turns.apart), other,
          (int)lround(DEGREES * MOST_APART));
  return -1;
}

#define TURNS_DOC                                                                              \
  "Rotations with extraction of order 1, else zero: the largest in the frame [rad], and the\n" \
  "largest of two groups relative to each other [degrees], and the groups."

PyDoc_STRVAR(displacement_doc,
             "displacement($self, c, rotation, /)\n--\n\n"
             "Displacements of the surface (s, 3), m, for parameters c (12h,), and "
             "rotations.\n\n" TURNS_DOC);
static PyObject *displacement(PyObject *self, PyObject *args) {
  const rf_control *control = py_held(self);
  PyObject *c_obj;
  int rotation;
  py_in c = {0};
  rf_control_state s;
  if (!PyArg_ParseTuple(args, "Op:displacement", &c_obj, &rotation) ||
      state_in(self, c_obj, rotation, &c, &s) < 0)
    return NULL;
  PyObject *out = py_new_f64(2, (npy_intp[]){control->n_surface, 3});
  if (out) {
    double *u = py_f64(out);
    PY_WITHOUT_GIL(rf_control_displacement_rt(control, &s, u));
  }
  py_in_release(&c);
  return out ? Py_BuildValue("NN", out, turns_out(turns_of(control, rotation, &s))) : NULL;
}

PyDoc_STRVAR(
    forces_doc,
    "forces($self, c, rotation, consistent, /)\n--\n\n"
    "Forces on the parameters (12h,), force and torque of each handle (h, 6), rotations, and\n"
    "the radius.\n\n" TURNS_DOC);
static PyObject *forces(PyObject *self, PyObject *args) {
  const rf_control *control = py_held(self);
  PyObject *c_obj, *result = NULL;
  int rotation, consistent;
  py_in c = {0};
  rf_control_state s;
  if (!PyArg_ParseTuple(args, "Opp:forces", &c_obj, &rotation, &consistent) ||
      state_in(self, c_obj, rotation, &c, &s) < 0)
    return NULL;
  const rf_control_turns turns = turns_of(control, rotation, &s);
  if (check_turns(self, turns) < 0) {
    py_in_release(&c);
    return NULL;
  }
  PyObject *force = py_new_f64(1, (npy_intp[]){RF_CONTROL_PARAMETERS * control->n_handles});
  PyObject *wrench = py_new_f64(2, (npy_intp[]){control->n_handles, 6});
  if (force && wrench) {
    rf_control_forces_rt(control, &s, consistent && rotation && control->order == 1, py_f64(force));
    rf_control_wrench_rt(control, c.data, py_f64(force), py_f64(wrench));
    result = Py_BuildValue("OONd", force, wrench, turns_out(turns), s.radius);
  }
  PY_XDECREF(force, wrench);
  py_in_release(&c);
  return result;
}

PyDoc_STRVAR(measures_doc,
             "measures($self, c, rotation, /)\n--\n\n"
             "Linear energy [J], that of order 1, rotations, and the radius in multiples of c,\n"
             "below 1 too.\n\n" TURNS_DOC);
static PyObject *measures(PyObject *self, PyObject *args) {
  const rf_control *control = py_held(self);
  PyObject *c_obj;
  int rotation;
  py_in c = {0};
  rf_control_state s;
  const npy_intp n = RF_CONTROL_PARAMETERS * control->n_handles;
  if (!PyArg_ParseTuple(args, "Op:measures", &c_obj, &rotation) ||
      py_in_f64(&c, c_obj, "c", 1, &n) < 0)
    return NULL;
  const rf_control_end end =
      rf_control_state_rt(control, rotation ? RF_CONTROL_FIT : RF_CONTROL_REST, c.data, &s);
  py_in_release(&c);
  if (end != RF_CONTROL_DONE && end != RF_CONTROL_BEYOND)
    return refuse(py_state_of_object(self), control, end, &s);
  const rf_control_turns turns = turns_of(control, rotation, &s);
  if (check_turns(self, turns) < 0) return NULL;
  return Py_BuildValue("dNd", rf_control_energy_rt(control, &s), turns_out(turns), s.radius);
}

static PyObject *get_matrix(PyObject *self, void *closure) {
  (void)closure;
  const rf_control *control = py_held(self);
  const npy_intp n = RF_CONTROL_PARAMETERS * control->n_handles;
  PyObject *out = py_new_f64(2, (npy_intp[]){n, n});
  for (npy_intp i = 0; out && i < n; ++i)
    memcpy(py_f64(out) + i * n, control->matrix + i * control->ld, (size_t)n * sizeof(double));
  return out;
}

static PyObject *get_means(PyObject *self, void *closure) {
  (void)closure;
  const rf_control *control = py_held(self);
  PyObject *out = py_new_f64(2, (npy_intp[]){control->n_handles, 3});
  for (int32_t g = 0; out && g < control->n_handles; ++g)
    memcpy(py_f64(out) + 3 * (npy_intp)g, control->group[g].mean, sizeof control->group[g].mean);
  return out;
}

PY_GETTER(get_rank, self, rf_control, c, PyLong_FromLong(c->rank))
PY_GETTER(get_n_fields, self, rf_control, c, PyLong_FromLong(c->n_fields))
PY_GETTER(get_bytes, self, rf_control, c, PyLong_FromLongLong(rf_control_bytes(c)))

PyDoc_STRVAR(
    parts_doc,
    "parts($self, /)\n--\n\n"
    "Arguments of control_of_parts, after n_handles: order, rank, number of surface nodes,\n"
    "counts (g,), means (g, 3) and moments (g, 3, 3) of groups, matrix (12g, 12g), fields\n"
    "(tiles, f, 3, tile), arms (tiles, 3, tile), to_relative and gauge (p, p), forces of\n"
    "products (f - 12g, 12g).");
static PyObject *parts(PyObject *self, PyObject *none) {
  (void)none;
  const rf_control *c = py_held(self);
  const npy_intp groups = c->n_groups, n = c->n_parameters, p = c->n_relative;
  const npy_intp tiles = rf_control_tiles(c), tile = rf_control_tile(c->single);
  const npy_intp products = c->n_fields - n, field[4] = {tiles, c->n_fields, 3, tile};
  PyObject *made[8] = {
      py_new_i32(1, &groups),
      py_new_f64(2, (npy_intp[]){groups, 3}),
      py_new_f64(3, (npy_intp[]){groups, 3, 3}),
      py_new_f64(2, (npy_intp[]){n, n}),
      c->single ? py_view_f32(self, c->fields, 4, field) : py_view_f64(self, c->fields, 4, field),
      py_view_f64(self, c->arm, 3, (npy_intp[]){tiles, 3, tile}),
      NULL,
      NULL};
  PyObject *gauge = py_new_f64(2, (npy_intp[]){p, p}), *result = NULL;
  made[6] = py_new_f64(2, (npy_intp[]){p, p});
  made[7] = py_new_f64(2, (npy_intp[]){products, n});
  bool good = gauge != NULL;
  for (int k = 0; k < 8; ++k) good = good && made[k];
  for (npy_intp g = 0; good && g < groups; ++g) {
    py_i32(made[0])[g] = c->group[g].count;
    memcpy(py_f64(made[1]) + 3 * g, c->group[g].mean, sizeof c->group[g].mean);
    memcpy(py_f64(made[2]) + 9 * g, c->group[g].moment, sizeof c->group[g].moment);
  }
  for (npy_intp i = 0; good && i < n; ++i)
    memcpy(py_f64(made[3]) + i * n, c->matrix + i * c->ld, (size_t)n * sizeof(double));
  for (npy_intp i = 0; good && i < products; ++i)
    memcpy(py_f64(made[7]) + i * n, c->product_forces + i * c->ld, (size_t)n * sizeof(double));
  if (good && p) {
    memcpy(py_f64(made[6]), c->to_relative, (size_t)(p * p) * sizeof(double));
    memcpy(py_f64(gauge), c->gauge, (size_t)(p * p) * sizeof(double));
  }
  if (good)
    result = Py_BuildValue("iiiOOOOOOOOO", c->order, c->rank, c->n_surface, made[0], made[1],
                           made[2], made[3], made[4], made[5], made[6], gauge, made[7]);
  for (int k = 0; k < 8; ++k) Py_XDECREF(made[k]);
  Py_XDECREF(gauge);
  return result;
}

static PyMethodDef methods[] = {
    {"parts", parts, METH_NOARGS, parts_doc},
    {"displacement", displacement, METH_VARARGS, displacement_doc},
    {"forces", forces, METH_VARARGS, forces_doc},
    {"measures", measures, METH_VARARGS, measures_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"matrix", get_matrix, NULL, "Forces on the parameters by the parameters (12h, 12h).", NULL},
    {"means", get_means, NULL, "Mean rest places of the handles (h, 3), m.", NULL},
    {"rank", get_rank, NULL, "Rank of the matrix.", NULL},
    {"n_fields", get_n_fields, NULL, "Number of fields.", NULL},
    {"bytes", get_bytes, NULL, "Memory of the fields.", NULL},
    {0},
};

PyDoc_STRVAR(control_doc,
             "ControlElements(solid, ptr, handles, surface_nodes, order, single, simd, progress,\n"
             "threads, /)\n--\n\n"
             "Fields of affine handles; handle h has the nodes handles[ptr[h]:ptr[h + 1]].");

static PyType_Spec control_spec = PY_SPEC(
    "ControlElements", py_object, {Py_tp_new, control_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, methods}, {Py_tp_getset, getset}, {Py_tp_doc, (void *)control_doc});

PyDoc_STRVAR(terms_doc,
             "control_terms($module, solid, ptr, handles, c, order, progress, threads, /)\n--\n\n"
             "Terms u_1 .. u_order (order, n, 3), m, of the motion e c of the handles.");
static PyObject *control_terms(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid_obj, *ptr_obj, *nodes_obj, *c_obj, *progress, *out = NULL;
  py_in ptr = {0}, nodes = {0}, c = {0};
  rf_control_settings set = {.order = 1};
  int terms, threads;
  py_run r;
  rf_error err = {0};
  rf_status st = RF_OK;
  if (!PyArg_ParseTuple(args, "OOOOiOi:control_terms", &solid_obj, &ptr_obj, &nodes_obj, &c_obj,
                        &terms, &progress, &threads))
    return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &r, progress, threads) < 0) return NULL;
  if (handles_in(ptr_obj, nodes_obj, &ptr, &nodes, &set, state) < 0) goto done;
  if (py_in_f64(&c, c_obj, "c", 1, (npy_intp[]){RF_CONTROL_PARAMETERS * (npy_intp)set.n_handles}) <
      0)
    goto done;
  if (terms < 1 || terms > RF_CONTROL_MOST_TERMS) {
    py_fail(state, PY_INPUT_ERROR, "order must be between 1 and %d, got %d", RF_CONTROL_MOST_TERMS,
            terms);
    goto done;
  }
  out = py_new_f64(3, (npy_intp[]){terms, solid->mesh->n_nodes, 3});
  if (!out) goto done;
  double *u = py_f64(out);
  PY_WITHOUT_GIL(st = rf_control_terms(solid, &set, &r.run, c.data, terms, u, &err));
  out = py_result(state, st, &err, out);
done:
  PY_IN_RELEASE(&ptr, &nodes, &c);
  return out;
}

PyDoc_STRVAR(
    of_parts_doc,
    "control_of_parts($module, n_handles, order, rank, n_surface, counts, means, moments,\n"
    "matrix, fields, arms, to_relative, gauge, product_forces, /)\n--\n\n"
    "A `ControlElements` with these parts, as of its method `parts`.");
static PyObject *control_of_parts(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  enum { N = 9 };
  static const char *const names[N] = {"counts",      "means",  "moments",
                                       "matrix",      "fields", "arms",
                                       "to_relative", "gauge",  "product_forces"};
  PyObject *object[N], *result = NULL;
  py_in in[N] = {{0}};
  rf_control_parts parts = {0};
  rf_control *control = NULL;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "iiiiOOOOOOOOO:control_of_parts", &parts.n_handles, &parts.order,
                        &parts.rank, &parts.n_surface, &object[0], &object[1], &object[2],
                        &object[3], &object[4], &object[5], &object[6], &object[7], &object[8]))
    return NULL;
  if (parts.n_surface < 0 || parts.order < 1 || parts.order > 3)
    return py_fail(state, PY_INPUT_ERROR, "n_surface or order is out of range");
  parts.single =
      PyArray_Check(object[4]) && PyArray_TYPE((PyArrayObject *)object[4]) == NPY_FLOAT32;
  if (py_in_i32(&in[0], object[0], names[0], 1, (npy_intp[]){PY_ANY}, 1, INT32_MAX) < 0) goto done;
  const npy_intp g = in[0].shape[0];
  if (g < 1 || g > RF_CONTROL_MOST_GROUPS) {
    py_fail(state, PY_INPUT_ERROR, "counts must have 1 to %d entries", RF_CONTROL_MOST_GROUPS);
    goto done;
  }
  const npy_intp n = RF_CONTROL_PARAMETERS * g, p = parts.order > 1 ? 6 * (g - 1) : 0;
  const npy_intp products = rf_control_products(parts.order, (int32_t)p);
  const npy_intp tile = rf_control_tile(parts.single), tiles = (parts.n_surface + tile - 1) / tile;
  const npy_intp shapes[N][4] = {
      {g},    {g, 3}, {g, 3, 3},    {n, n}, {tiles, n + products, 3, tile}, {tiles, 3, tile},
      {p, p}, {p, p}, {products, n}};
  static const int axes[N] = {1, 2, 3, 2, 4, 3, 2, 2, 2};
  for (int k = 1; k < N; ++k)
    if ((k == 4 && parts.single ? py_in_f32(&in[k], object[k], names[k], axes[k], shapes[k])
                                : py_in_f64(&in[k], object[k], names[k], axes[k], shapes[k])) < 0)
      goto done;
  parts.n_groups = (int32_t)g;
  parts.count = in[0].data;
  parts.mean = in[1].data;
  parts.moment = in[2].data;
  parts.matrix = in[3].data;
  parts.fields = in[4].data;
  parts.arm = in[5].data;
  parts.to_relative = in[6].data;
  parts.gauge = in[7].data;
  parts.product_forces = in[8].data;
  const rf_status st = rf_control_of_parts(&parts, &control, &err);
  result = st < 0 ? py_raise(state, st, &err)
                  : py_object_new(state->types[PY_CONTROL], control, release, NULL);
done:
  for (int k = 0; k < N; ++k) py_in_release(&in[k]);
  return result;
}

static PyMethodDef functions[] = {
    {"control_of_parts", control_of_parts, METH_VARARGS, of_parts_doc},
    {"control_terms", control_terms, METH_VARARGS, terms_doc},
    {NULL, NULL, 0, NULL},
};

static const py_constant constants[] = {{"CONTROL_MOST_TERMS", RF_CONTROL_MOST_TERMS, false},
                                        {NULL, 0.0, false}};

const py_room py_control_room = {
    .types = {{PY_CONTROL, &control_spec}}, .functions = functions, .constants = constants};
