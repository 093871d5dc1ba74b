// Green's functions of a surface, and contacts with it.
#include <string.h>

#include "base/alloc.h"
#include "fem/fem.h"
#include "green/contact.h"
#include "green/packed.h"
#include "pyext/py_convert.h"
#include "pyext/py_green.h"
#include "pyext/py_object.h"
#include "pyext/py_solid.h"

static const rf_green *self_green(PyObject *self) { return py_held(self); }

const rf_green *py_green_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_GREEN, "green", "GreensFunctions");
}

static void release(void *green) { rf_green_free(green); }

static PyObject *green_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *solid_obj, *nodes_obj, *releasable_obj, *callable, *result = NULL;
  int single, threads, simd = RF_SIMD_BEST;
  double tolerance;
  py_in nodes = {0}, releasable = {0};
  py_run run;
  rf_green *green = NULL;
  rf_error err = {0};
  rf_status st;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOpdOi|i:Green", &solid_obj, &nodes_obj, &releasable_obj, &single,
                        &tolerance, &callable, &threads, &simd))
    return NULL;
  if (!(tolerance >= 0.0 && tolerance < 1.0))
    return py_fail(state, PY_INPUT_ERROR, "tolerance must be 0 or more and below 1");
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &run, callable, threads) < 0) return NULL;
  const npy_intp any = PY_ANY;
  const int32_t most = solid->mesh->n_nodes - 1;
  if (py_in_i32(&nodes, nodes_obj, "surface_nodes", 1, &any, 0, most) < 0 ||
      py_in_i32(&releasable, releasable_obj, "releasable", 1, &any, 0, most) < 0)
    goto done;
  const rf_green_settings set = {.node = nodes.data,
                                 .count = (int32_t)nodes.shape[0],
                                 .releasable = releasable.data,
                                 .n_releasable = (int32_t)releasable.shape[0],
                                 .single = single,
                                 .tolerance = tolerance,
                                 .simd = (rf_simd)simd};
  PY_WITHOUT_GIL(st = rf_green_create(solid, &run.run, &set, &green, &err));
  result = st < 0 ? py_raise(state, st, &err) : py_object_new(type, green, release, NULL);
done:
  PY_IN_RELEASE(&nodes, &releasable);
  return result;
}

static PyObject *new_array(int ndim, const npy_intp *shape, bool single) {
  return PyArray_ZEROS(ndim, shape, single ? NPY_FLOAT32 : NPY_FLOAT64, 0);
}

// Returns the first rows of a field (rf_green_rows, 3), which is released.
static PyObject *first_rows(const rf_green *g, PyObject *field) {
  PyObject *part = field ? PySequence_GetSlice(field, 0, g->count) : NULL;
  Py_XDECREF(field);
  return part;
}

static PyObject *new_field(const rf_green *g) {
  return py_new_f64(2, (npy_intp[]){rf_green_rows(g), 3});
}

PyDoc_STRVAR(matrix_doc, "matrix($self, /)\n--\n\nDense copy (3s, 3s) in the type of the entries.");
static PyObject *green_matrix(PyObject *self, PyObject *none) {
  (void)none;
  const rf_green *g = self_green(self);
  const npy_intp n = 3 * (npy_intp)g->count;
  PyObject *out = new_array(2, (npy_intp[]){n, n}, g->single);
  if (!out) return NULL;
  void *to = PyArray_DATA((PyArrayObject *)out);
  PY_WITHOUT_GIL(rf_green_dense(g, to));
  return out;
}

PyDoc_STRVAR(add_doc,
             "add($self, places, forces, /)\n--\n\n"
             "Displacements (s, 3) by forces (m, 3) at places (m,).");
static PyObject *green_add(PyObject *self, PyObject *args) {
  const rf_green *g = self_green(self);
  PyObject *places_obj, *forces_obj, *u = NULL;
  py_in places = {0}, forces = {0};
  if (!PyArg_ParseTuple(args, "OO:add", &places_obj, &forces_obj)) return NULL;
  if (py_in_i32(&places, places_obj, "nodes", 1, (npy_intp[]){PY_ANY}, 0, g->count - 1) < 0 ||
      py_in_f64(&forces, forces_obj, "force", 2, (npy_intp[]){places.shape[0], 3}) < 0)
    goto done;
  u = new_field(g);
  if (!u) goto done;
  double *to = py_f64(u);
  PY_WITHOUT_GIL(rf_green_add_rt(g, (int32_t)places.shape[0], places.data, forces.data, to));
  u = first_rows(g, u);
done:
  PY_IN_RELEASE(&places, &forces);
  return u;
}

static int points_in(const rf_green *g, PyObject *places_obj, PyObject *weights_obj,
                     rf_green_point **points, npy_intp *m) {
  py_in places = {0}, weights = {0};
  int st = -1;
  *points = NULL;
  if (py_in_i32(&places, places_obj, "nodes", 2, (npy_intp[]){PY_ANY, 3}, 0, g->count - 1) < 0 ||
      py_in_f64(&weights, weights_obj, "weights", 2, (npy_intp[]){places.shape[0], 3}) < 0)
    goto done;
  *m = places.shape[0];
  *points = rf_alloc((size_t)*m, sizeof **points);
  if (!*points) {
    PyErr_NoMemory();
    goto done;
  }
  for (npy_intp k = 0; k < *m; ++k) {
    memcpy((*points)[k].place, (const int32_t *)places.data + 3 * k, 3 * sizeof(int32_t));
    memcpy((*points)[k].weight, (const double *)weights.data + 3 * k, 3 * sizeof(double));
  }
  st = 0;
done:
  PY_IN_RELEASE(&places, &weights);
  return st;
}

PyDoc_STRVAR(compliance_doc,
             "compliance($self, places, weights, /)\n--\n\n"
             "Displacement of a point by a force there, (3, 3); places and weights (1, 3).");
static PyObject *green_compliance(PyObject *self, PyObject *args) {
  const rf_green *g = self_green(self);
  PyObject *places_obj, *weights_obj, *out = NULL;
  rf_green_point *point;
  npy_intp m;
  if (!PyArg_ParseTuple(args, "OO:compliance", &places_obj, &weights_obj)) return NULL;
  if (points_in(g, places_obj, weights_obj, &point, &m) < 0) return NULL;
  if (m == 1)
    out = py_new_f64(2, (npy_intp[]){3, 3});
  else
    py_fail(py_state_of_object(self), PY_INPUT_ERROR, "one point is needed, got %zd", m);
  if (out) rf_green_between_rt(g, point, point, py_f64(out));
  rf_free(point);
  return out;
}

PyDoc_STRVAR(
    solve_doc,
    "solve($self, places, axes, targets, load, released, threads, /)\n--\n\n"
    "Prescribed displacements of DOFs, places, axes and targets (h,), under a load (s, 3)\n"
    "or None, with releasable nodes `released` (by index) freed. Tuple of the forces\n"
    "(h,), u (s, 3), the displacements of the released nodes (k, 3), and the lift.");
static PyObject *green_solve(PyObject *self, PyObject *args) {
  const rf_green *g = self_green(self);
  py_state *state = py_state_of_object(self);
  PyObject *object[5], *force = NULL, *u = NULL, *moved = NULL, *result = NULL;
  int threads;
  py_in places = {0}, axes = {0}, targets = {0}, load = {0}, released = {0};
  py_run run;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OOOOOi:solve", &object[0], &object[1], &object[2], &object[3],
                        &object[4], &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  if (py_in_i32(&places, object[0], "held", 1, (npy_intp[]){PY_ANY}, 0, g->count - 1) < 0)
    goto done;
  const npy_intp held = places.shape[0];
  if (py_in_i32(&axes, object[1], "axes", 1, &held, 0, 2) < 0 ||
      py_in_f64(&targets, object[2], "held", 1, &held) < 0 ||
      py_in_i32(&released, object[4], "released", 1, (npy_intp[]){PY_ANY}, 0, g->n_releasable - 1) <
          0)
    goto done;
  if (object[3] != Py_None &&
      py_in_f64(&load, object[3], "force", 2, (npy_intp[]){g->count, 3}) < 0)
    goto done;
  force = py_new_f64(1, &held);
  u = new_field(g);
  moved = py_new_f64(2, (npy_intp[]){released.shape[0], 3});
  if (!force || !u || !moved) goto done;
  const rf_green_problem problem = {.held = (int32_t)held,
                                    .place = places.data,
                                    .axis = axes.data,
                                    .target = targets.data,
                                    .load = load.data,
                                    .n_released = (int32_t)released.shape[0],
                                    .released = released.data};
  double *to[3] = {py_f64(force), py_f64(u), py_f64(moved)}, lift = 0.0;
  rf_status st;
  PY_WITHOUT_GIL(st = rf_green_solve(g, &run.run, &problem, to[0], to[1], to[2], &lift, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  u = first_rows(g, u);
  if (u) result = Py_BuildValue("OOOd", force, u, moved, lift);
done:
  PY_IN_RELEASE(&places, &axes, &targets, &load, &released);
  PY_XDECREF(force, u, moved);
  return result;
}

PyDoc_STRVAR(
    contact_doc,
    "contact($self, places, weights, normals, gaps, mu, load, released, tol, threads, /)\n--\n\n"
    "Contacts at points, places and weights (m, 3), with normals and gaps (m, 3), mu (m,),\n"
    "and a load (s, 3) or None, with releasable nodes `released` (by index) freed. Tuple of\n"
    "the forces and gaps (m, 3), states (m,), u (s, 3), the displacements of the released\n"
    "nodes (k, 3), the lift, and the end, residual, sweeps, steps and microseconds of the\n"
    "solver.");
static PyObject *green_contact(PyObject *self, PyObject *args) {
  const rf_green *g = self_green(self);
  py_state *state = py_state_of_object(self);
  PyObject *object[7], *force = NULL, *gap = NULL, *states = NULL, *moved = NULL, *u = NULL;
  PyObject *result = NULL;
  py_in normals = {0}, gaps = {0}, mu = {0}, load = {0}, released = {0};
  rf_green_point *points = NULL;
  npy_intp m = 0;
  double tol, lift = 0.0;
  int threads;
  py_run run;
  rf_friction_report report = {0};
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OOOOOOOdi:contact", &object[0], &object[1], &object[2], &object[3],
                        &object[4], &object[5], &object[6], &tol, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0 ||
      points_in(g, object[0], object[1], &points, &m) < 0)
    return NULL;
  const npy_intp shape[2] = {m, 3};
  if (py_in_f64(&normals, object[2], "normals", 2, shape) < 0 ||
      py_in_f64(&gaps, object[3], "gaps", 2, shape) < 0 ||
      py_in_f64(&mu, object[4], "friction", 1, &m) < 0 ||
      py_in_i32(&released, object[6], "released", 1, (npy_intp[]){PY_ANY}, 0, g->n_releasable - 1) <
          0)
    goto done;
  if (object[5] != Py_None &&
      py_in_f64(&load, object[5], "force", 2, (npy_intp[]){g->count, 3}) < 0)
    goto done;
  if (m < 1 || m > RF_FRICTION_MOST) {
    py_fail(state, PY_INPUT_ERROR, "points must be 1 to %d, got %zd", RF_FRICTION_MOST, m);
    goto done;
  }
  if (!(tol > 0.0)) {
    py_fail(state, PY_INPUT_ERROR, "tol must be positive");
    goto done;
  }
  force = py_new_f64(2, shape);
  gap = py_new_f64(2, shape);
  states = py_new_i32(1, &m);
  moved = py_new_f64(2, (npy_intp[]){released.shape[0], 3});
  u = new_field(g);
  rf_contact_state *found = rf_alloc((size_t)m, sizeof *found);
  if (!force || !gap || !states || !moved || !u || !found) {
    rf_free(found);
    if (!PyErr_Occurred()) PyErr_NoMemory();
    goto done;
  }
  const rf_green_contact contact = {.m = (int32_t)m,
                                    .point = points,
                                    .normal = normals.data,
                                    .gap = gaps.data,
                                    .mu = mu.data,
                                    .load = load.data,
                                    .n_released = (int32_t)released.shape[0],
                                    .released = released.data};
  double *to[4] = {py_f64(force), py_f64(gap), py_f64(moved), py_f64(u)};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_green_contact_solve(g, &run.run, &contact, tol, to[0], to[1], found, to[2],
                                             to[3], &lift, &report, &err));
  for (npy_intp k = 0; k < m; ++k) py_i32(states)[k] = (int32_t)found[k];
  rf_free(found);
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  u = first_rows(g, u);
  if (u)
    result =
        Py_BuildValue("OOOOOd(idiid)", force, gap, states, u, moved, lift, (int)report.end,
                      report.residual, (int)report.sweeps, (int)report.steps, report.elapsed_us);
done:
  rf_free(points);
  PY_IN_RELEASE(&normals, &gaps, &mu, &load, &released);
  PY_XDECREF(force, gap, states, moved, u);
  return result;
}

// --- attributes ----------------------------------------------------------------------

static PyObject *get_nodes(PyObject *self, void *none) {
  (void)none;
  const rf_green *g = self_green(self);
  return py_view_i32(self, g->node, 1, (npy_intp[]){g->count});
}

static PyObject *get_releasable(PyObject *self, void *none) {
  (void)none;
  const rf_green *g = self_green(self);
  return py_view_i32(self, g->releasable, 1, (npy_intp[]){g->n_releasable});
}

static PyObject *get_entries(PyObject *self, void *none) {
  (void)none;
  const rf_green *g = self_green(self);
  if (g->packed) {
    PyObject *out =
        new_array(1, (npy_intp[]){(npy_intp)rf_green_packed_entries(g->packed)}, g->single);
    if (out) rf_green_packed_copy(g, PyArray_DATA((PyArrayObject *)out));
    return out;
  }
  const npy_intp n = (npy_intp)rf_green_entries(g->stored);
  return g->single ? py_view_f32(self, g->entry, 1, &n) : py_view_f64(self, g->entry, 1, &n);
}

static PyObject *get_packed(PyObject *self, void *none) {
  (void)none;
  const rf_green *g = self_green(self);
  const rf_green_packed *p = g->packed;
  if (!p) Py_RETURN_NONE;
  PyObject *begin = py_view_i32(self, p->begin, 1, (npy_intp[]){p->tiles + 1});
  PyObject *place = py_view_i32(self, p->place, 1, (npy_intp[]){g->stored});
  PyObject *rank =
      py_view_i32(self, p->rank, 1, (npy_intp[]){(npy_intp)rf_green_packed_blocks(p->tiles)});
  if (begin && place && rank) return Py_BuildValue("dNNN", p->tolerance, begin, place, rank);
  PY_XDECREF(begin, place, rank);
  return NULL;
}

static PyObject *get_single(PyObject *self, void *none) {
  (void)none;
  return PyBool_FromLong(self_green(self)->single);
}

static PyObject *get_bytes(PyObject *self, void *none) {
  (void)none;
  return PyLong_FromLongLong(rf_green_bytes(self_green(self)));
}

static PyObject *get_static_modes(PyObject *self, void *none) {
  (void)none;
  const rf_green *g = self_green(self);
  const npy_intp shape[3] = {3 * (npy_intp)g->n_releasable, rf_green_rows(g), 3};
  return py_view_f64(self, g->static_modes, 3, shape);
}

static PyObject *get_support(PyObject *self, void *none) {
  (void)none;
  const rf_green *g = self_green(self);
  const npy_intp r = 3 * (npy_intp)g->n_releasable;
  return py_view_f64(self, g->support, 2, (npy_intp[]){r, r});
}

static PyObject *get_rigid(PyObject *self, void *none) {
  (void)none;
  const rf_green *g = self_green(self);
  if (!g->rigid) Py_RETURN_NONE;
  return py_view_f64(self, g->rigid, 3, (npy_intp[]){RF_GREEN_RIGID, rf_green_rows(g), 3});
}

static PyObject *get_added(PyObject *self, void *none) {
  (void)none;
  const rf_green *g = self_green(self);
  if (!g->added) Py_RETURN_NONE;
  return py_view_f64(self, g->added, 2, (npy_intp[]){3 * (npy_intp)g->count, g->n_added});
}

static PyObject *get_firm(PyObject *self, void *none) {
  (void)none;
  const rf_green *g = self_green(self);
  if (!g->firm) Py_RETURN_NONE;
  return py_view_f64(self, g->firm, 1, (npy_intp[]){3 * (npy_intp)g->n_releasable});
}

static PyObject *get_n_nodes(PyObject *self, void *none) {
  (void)none;
  return PyLong_FromLong(self_green(self)->n_nodes);
}

static PyGetSetDef green_attributes[] = {
    {"nodes", get_nodes, NULL, "Nodes of the surface (s,).", NULL},
    {"n_nodes", get_n_nodes, NULL, "Number of nodes of the mesh.", NULL},
    {"added", get_added, NULL, "Columns (3s, 3k) of k released nodes, or None.", NULL},
    {"firm", get_firm, NULL, "Stiffness whose rounding is in the support (3r,), or None.", NULL},
    {"releasable", get_releasable, NULL, "Fixed nodes that can be released.", NULL},
    {"entries", get_entries, NULL, "Entries in tiles, or a copy of packed ones.", NULL},
    {"packed", get_packed, NULL,
     "None, or tolerance, first slots of tiles, places of slots, ranks (csrc/green/packed.h).",
     NULL},
    {"single", get_single, NULL, "Entries are float.", NULL},
    {"bytes", get_bytes, NULL, "Bytes of all arrays.", NULL},
    {"static_modes", get_static_modes, NULL, "Static modes (3r, rows, 3).", NULL},
    {"support", get_support, NULL, "Stiffness of the releasable nodes (3r, 3r).", NULL},
    {"rigid", get_rigid, NULL, "Rigid motions (6, rows, 3), or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef green_methods[] = {
    {"add", green_add, METH_VARARGS, add_doc},
    {"compliance", green_compliance, METH_VARARGS, compliance_doc},
    {"contact", green_contact, METH_VARARGS, contact_doc},
    {"matrix", green_matrix, METH_NOARGS, matrix_doc},
    {"solve", green_solve, METH_VARARGS, solve_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(green_doc,
             "Green(solid, surface_nodes, releasable, single, tolerance, progress, threads, "
             "simd=0,\n/)\n--\n\n"
             "Displacements of the nodes of a surface by forces there.");

static PyType_Spec green_spec =
    PY_SPEC_KEEPING("Green", py_object, {Py_tp_new, green_new}, {Py_tp_dealloc, py_object_dealloc},
                    {Py_tp_methods, green_methods}, {Py_tp_getset, green_attributes},
                    {Py_tp_doc, (void *)green_doc});

PyDoc_STRVAR(
    from_doc,
    "green_of_entries($module, n_nodes, nodes, releasable, entries, static_modes, support,\n"
    "rigid, packed, /)\n--\n\n"
    "A `Green` with these arrays, as its attributes; `rigid` and `packed` may be None.");
static PyObject *green_of_entries(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *object[7], *begin_obj, *place_obj, *rank_obj, *result = NULL;
  py_in nodes = {0}, releasable = {0}, entries = {0}, modes = {0}, support = {0}, rigid = {0};
  py_in begin = {0}, place = {0}, rank = {0};
  rf_green_packed_file file = {0};
  int n_nodes;
  rf_green *g = NULL;
  rf_error err = {0};
  const npy_intp any = PY_ANY;
  if (!PyArg_ParseTuple(args, "iOOOOOOO:green_of_entries", &n_nodes, &object[0], &object[1],
                        &object[2], &object[3], &object[4], &object[5], &object[6]))
    return NULL;
  if (n_nodes < 1) return py_fail(state, PY_INPUT_ERROR, "n_nodes must be positive");
  const bool single =
      PyArray_Check(object[2]) && PyArray_TYPE((PyArrayObject *)object[2]) == NPY_FLOAT32;
  if (py_in_i32(&nodes, object[0], "nodes", 1, &any, 0, n_nodes - 1) < 0 ||
      py_in_i32(&releasable, object[1], "releasable", 1, &any, 0, n_nodes - 1) < 0)
    goto done;
  if (object[6] != Py_None) {
    if (!PyArg_ParseTuple(object[6], "dOOO:packed", &file.tolerance, &begin_obj, &place_obj,
                          &rank_obj) ||
        py_in_i32(&begin, begin_obj, "tiles", 1, &any, 0, INT32_MAX) < 0 ||
        py_in_i32(&place, place_obj, "slots", 1, &nodes.shape[0], 0, INT32_MAX) < 0)
      goto done;
    file.tiles = (int32_t)begin.shape[0] - 1;
    if (file.tiles < 1 || file.tiles > (int32_t)nodes.shape[0]) {
      py_fail(state, PY_INPUT_ERROR, "tiles must be 1 to %zd", nodes.shape[0]);
      goto done;
    }
    const npy_intp blocks = (npy_intp)rf_green_packed_blocks(file.tiles);
    if (py_in_i32(&rank, rank_obj, "ranks", 1, &blocks, RF_GREEN_DENSE, INT32_MAX) < 0) goto done;
    file.begin = begin.data;
    file.place = place.data;
    file.rank = rank.data;
  }
  const rf_green_settings set = {.node = nodes.data,
                                 .count = (int32_t)nodes.shape[0],
                                 .releasable = releasable.data,
                                 .n_releasable = (int32_t)releasable.shape[0],
                                 .single = single,
                                 .tolerance = file.tolerance,
                                 .simd = RF_SIMD_BEST};
  const npy_intp n = file.begin ? PY_ANY : (npy_intp)rf_green_entries(set.count),
                 r = 3 * (npy_intp)set.n_releasable;
  const npy_intp rows = (set.count + RF_GREEN_TILE - 1) / RF_GREEN_TILE * RF_GREEN_TILE;
  if ((single ? py_in_f32(&entries, object[2], "entries", 1, &n)
              : py_in_f64(&entries, object[2], "entries", 1, &n)) < 0 ||
      py_in_f64(&modes, object[3], "static_modes", 3, (npy_intp[]){r, rows, 3}) < 0 ||
      py_in_f64(&support, object[4], "support", 2, (npy_intp[]){r, r}) < 0)
    goto done;
  if (object[5] != Py_None &&
      py_in_f64(&rigid, object[5], "rigid", 3, (npy_intp[]){RF_GREEN_RIGID, rows, 3}) < 0)
    goto done;
  const rf_status st = rf_green_allocate(n_nodes, object[5] != Py_None, &set, &g, &err);
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  if (file.begin) {
    file.entry = entries.data;
    file.n_entries = entries.shape[0];
    const rf_status packed = rf_green_packed_restore(g, &file, &err);
    if (packed < 0) {
      rf_green_free(g);
      py_raise(state, packed, &err);
      goto done;
    }
  } else {
    memcpy(g->entry, entries.data, (size_t)n * (single ? sizeof(float) : sizeof(double)));
  }
  if (r) memcpy(g->static_modes, modes.data, (size_t)(r * rows * 3) * sizeof(double));
  if (r) memcpy(g->support, support.data, (size_t)(r * r) * sizeof(double));
  if (g->rigid) memcpy(g->rigid, rigid.data, (size_t)(RF_GREEN_RIGID * rows * 3) * sizeof(double));
  result = py_object_new(state->types[PY_GREEN], g, release, NULL);
done:
  PY_IN_RELEASE(&nodes, &releasable, &entries, &modes, &support, &rigid, &begin, &place, &rank);
  return result;
}

static PyMethodDef functions[] = {
    {"green_of_entries", green_of_entries, METH_VARARGS, from_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_green_room = {.types = {{PY_GREEN, &green_spec}}, .functions = functions};
