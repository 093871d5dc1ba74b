// Control elements: solids moved by handles, solved in advance.
#include <math.h>
#include <stdio.h>

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
  Py_BEGIN_ALLOW_THREADS
  st = rf_control_create(solid, &set, &r.run, &control, &err);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : py_object_new(type, control, release, NULL);
done:
  py_in_release(&ptr);
  py_in_release(&nodes);
  py_in_release(&surface);
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

PyDoc_STRVAR(displacement_doc,
             "displacement($self, c, rotation, /)\n--\n\n"
             "Displacements of the surface (s, 3), m, for parameters c (12h,).");
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
    Py_BEGIN_ALLOW_THREADS
    rf_control_displacement_rt(control, &s, u);
    Py_END_ALLOW_THREADS
  }
  py_in_release(&c);
  return out;
}

PyDoc_STRVAR(
    forces_doc,
    "forces($self, c, rotation, consistent, /)\n--\n\n"
    "Forces on the parameters (12h,), force and torque of each handle (h, 6), the largest\n"
    "rotation in the frame, with extraction of order 1 [rad], and the radius.");
static PyObject *forces(PyObject *self, PyObject *args) {
  const rf_control *control = py_held(self);
  PyObject *c_obj, *result = NULL;
  int rotation, consistent;
  double turn = 0.0, apart = 0.0;
  py_in c = {0};
  rf_control_state s;
  if (!PyArg_ParseTuple(args, "Opp:forces", &c_obj, &rotation, &consistent) ||
      state_in(self, c_obj, rotation, &c, &s) < 0)
    return NULL;
  if (rotation && control->order == 1) turn = rf_control_turn_rt(control, &s, &apart);
  if (apart > MOST_APART) {
    py_in_release(&c);
    return py_fail(py_state_of_object(self), PY_INPUT_ERROR,
                   "c turns handles by %d degrees relative to each other: forces of order 1 have "
                   "no meaning beyond %d, and jump at 180; turn them less, or use order 2 or 3",
                   (int)lround(DEGREES * apart), (int)lround(DEGREES * MOST_APART));
  }
  PyObject *force = py_new_f64(1, (npy_intp[]){RF_CONTROL_PARAMETERS * control->n_handles});
  PyObject *wrench = py_new_f64(2, (npy_intp[]){control->n_handles, 6});
  if (force && wrench) {
    rf_control_forces_rt(control, &s, consistent && rotation && control->order == 1, py_f64(force));
    rf_control_wrench_rt(control, c.data, py_f64(force), py_f64(wrench));
    result = Py_BuildValue("OOdd", force, wrench, turn, s.radius);
  }
  Py_XDECREF(force);
  Py_XDECREF(wrench);
  py_in_release(&c);
  return result;
}

PyDoc_STRVAR(measures_doc,
             "measures($self, c, rotation, /)\n--\n\n"
             "Linear energy [J], that of order 1, and the radius in multiples of c, below 1 too.");
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
  return Py_BuildValue("dd", rf_control_energy_rt(control, &s), s.radius);
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

static PyObject *get_rank(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLong(((const rf_control *)py_held(self))->rank);
}

static PyObject *get_n_fields(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLong(((const rf_control *)py_held(self))->n_fields);
}

static PyObject *get_bytes(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLongLong(rf_control_bytes(py_held(self)));
}

static PyMethodDef methods[] = {
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
  Py_BEGIN_ALLOW_THREADS
  st = rf_control_terms(solid, &set, &r.run, c.data, terms, u, &err);
  Py_END_ALLOW_THREADS
  out = py_result(state, st, &err, out);
done:
  py_in_release(&ptr);
  py_in_release(&nodes);
  py_in_release(&c);
  return out;
}

static PyMethodDef functions[] = {
    {"control_terms", control_terms, METH_VARARGS, terms_doc},
    {NULL, NULL, 0, NULL},
};

static const py_constant constants[] = {{"CONTROL_MOST_TERMS", RF_CONTROL_MOST_TERMS, false},
                                        {NULL, 0.0, false}};

const py_room py_control_room = {
    .types = {{PY_CONTROL, &control_spec}}, .functions = functions, .constants = constants};
