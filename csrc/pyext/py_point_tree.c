// The type _core.PointTree: the hierarchy over a pointshell that contact is searched in.
#include "pyext/py_point_tree.h"

#include "base/alloc.h"
#include "pyext/py_convert.h"
#include "pyext/py_object.h"

static const rf_point_tree *self_tree(PyObject *self) { return py_held(self); }

const rf_point_tree *py_point_tree_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_POINT_TREE, "tree", "PointTree");
}

static void release(void *tree) { rf_point_tree_free(tree); }

static PyObject *tree_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *points_obj, *normals_obj, *levels_obj, *motion_obj, *tilt_obj, *progress, *self = NULL;
  py_in points = {0}, normals = {0}, levels = {0}, motion = {0}, tilt = {0};
  int threads, simd = RF_SIMD_BEST;
  py_run run;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOOOOi|i:PointTree", &points_obj, &normals_obj, &levels_obj,
                        &motion_obj, &tilt_obj, &progress, &threads, &simd))
    return NULL;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  if (py_in_f64(&points, points_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) < 0) goto done;
  const npy_intp n = points.shape[0];
  if (n > INT32_MAX / 2) {
    py_fail(state, PY_INPUT_ERROR, "points has %zd rows; at most %d are allowed", n, INT32_MAX / 2);
    goto done;
  }
  if (py_in_f64(&normals, normals_obj, "normals", 2, (npy_intp[]){n, 3}) < 0 ||
      py_in_i32(&levels, levels_obj, "levels", 1, (npy_intp[]){n}, 0, INT32_MAX) < 0)
    goto done;
  if (motion_obj != Py_None) {
    if (py_in_f64(&motion, motion_obj, "motion", 3, (npy_intp[]){n, 3, PY_ANY}) < 0 ||
        py_in_f64(&tilt, tilt_obj, "tilt", 3, (npy_intp[]){n, 3, motion.shape[2]}) < 0)
      goto done;
    if (!(motion.shape[2] >= 1 && motion.shape[2] <= 100000)) {
      py_fail(state, PY_INPUT_ERROR, "motion has %zd coordinates; 1 to 100000 are allowed",
              motion.shape[2]);
      goto done;
    }
  }
  rf_point_tree *tree = NULL;
  rf_error err = {0};
  rf_status st;
  const int32_t r = motion_obj != Py_None ? (int32_t)motion.shape[2] : 0;
  PY_WITHOUT_GIL(st = rf_point_tree_create((int32_t)n, points.data, normals.data, levels.data, r,
                                           motion.data, tilt.data, (rf_simd)simd, &run.run, &tree,
                                           &err));
  self = st < 0 ? py_raise(state, st, &err) : py_object_new(type, tree, release, NULL);
done:
  PY_IN_RELEASE(&points, &normals, &levels, &motion, &tilt);
  return self;
}

// Converts q of a deformable tree; NULL data for None.
static int q_in(PyObject *self, py_in *q, PyObject *object) {
  const rf_point_tree *t = self_tree(self);
  if (object == Py_None) return 0;
  if (!t->r) {
    py_fail(py_state_of_object(self), PY_INPUT_ERROR, "q is given, but the tree is rigid");
    return -1;
  }
  if (py_in_f64(q, object, "q", 1, (npy_intp[]){t->r}) < 0) return -1;
  rf_error err = {0};
  const rf_status st = rf_point_tree_check(t, q->data, &err);
  if (st == RF_OK) return 0;
  py_raise(py_state_of_object(self), st, &err);
  py_in_release(q);
  return -1;
}

PyDoc_STRVAR(radii_doc,
             "radii($self, level, q, tight, threads, /)\n--\n\n"
             "Radii of the nodes of a level, in the order of the shell; q or None.");
static PyObject *radii(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  const rf_point_tree *t = self_tree(self);
  PyObject *q_obj, *out = NULL;
  py_in q = {0};
  int level, tight, threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "iOpi:radii", &level, &q_obj, &tight, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  if (!(level >= 0 && level < t->n_levels))
    return py_fail(state, PY_INPUT_ERROR, "level must be between 0 and %d, got %d", t->n_levels - 1,
                   level);
  if (q_in(self, &q, q_obj) < 0) return NULL;
  out = py_new_f64(1, (npy_intp[]){t->count[level]});
  if (out) {
    double *to = py_f64(out);
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_point_tree_radii(t, &run.run, level, q.data, tight, to, &err));
    out = py_result(state, st, &err, out);
  }
  py_in_release(&q);
  return out;
}

// Permutes rows from places in the tree to the order of the shell.
static PyObject *moved(PyObject *self, PyObject *args, int normals) {
  const rf_point_tree *t = self_tree(self);
  PyObject *q_obj, *out = NULL;
  py_in q = {0};
  if (!PyArg_ParseTuple(args, "O", &q_obj) || q_in(self, &q, q_obj) < 0) return NULL;
  double *row = rf_alloc((size_t)t->row, sizeof *row);
  double *bound = rf_alloc((size_t)t->bound, sizeof *bound);
  if (!row || !bound) {
    PyErr_NoMemory();
    goto done;
  }
  out = py_new_f64(2, (npy_intp[]){t->n_points, 3});
  if (!out) goto done;
  double *to = py_f64(out);
  Py_BEGIN_ALLOW_THREADS
  if (q.data) rf_point_tree_pad_rt(t, q.data, row, bound);
  for (int32_t p = 0; p < t->n_points; ++p) {
    if (normals)
      rf_point_tree_normals_rt(t, 1, t->place + p, row, to + 3 * (size_t)p);
    else
      rf_point_tree_positions_rt(t, 1, t->place + p, row, to + 3 * (size_t)p);
  }
  Py_END_ALLOW_THREADS
done:
  rf_free(row);
  rf_free(bound);
  py_in_release(&q);
  return out;
}

PyDoc_STRVAR(positions_doc,
             "positions($self, q, /)\n--\n\n"
             "Positions of all points at q (or None), in the order of the shell.");
static PyObject *positions(PyObject *self, PyObject *args) { return moved(self, args, 0); }

PyDoc_STRVAR(normals_doc,
             "normals($self, q, /)\n--\n\n"
             "Unit normals of all points at q (or None), in the order of the shell.");
static PyObject *normals(PyObject *self, PyObject *args) { return moved(self, args, 1); }

static PyObject *get_parents(PyObject *self, void *unused) {
  (void)unused;
  const rf_point_tree *t = self_tree(self);
  PyObject *out = py_new_i32(1, (npy_intp[]){t->n_points});
  if (!out) return NULL;
  int32_t *to = py_i32(out);
  for (int32_t k = 0; k < t->n_points; ++k)
    to[t->point[k]] = t->parent[k] < 0 ? -1 : t->point[t->parent[k]];
  return out;
}

PY_GETTER(get_order, self, rf_point_tree, t,
          py_view_i32(self, t->point, 1, (npy_intp[]){t->n_points}))
PY_GETTER(get_counts, self, rf_point_tree, t,
          py_view_i32(self, t->count, 1, (npy_intp[]){t->n_levels}))
PY_GETTER(get_r, self, rf_point_tree, t, PyLong_FromLong(t->r))

static PyGetSetDef getset[] = {
    {"parents", get_parents, NULL, "Parent of each point (index in the shell), -1: none (n,).",
     NULL},
    {"order", get_order, NULL, "Points in the order they are visited, read-only (n,).", NULL},
    {"counts", get_counts, NULL, "Nodes of each level, read-only.", NULL},
    {"r", get_r, NULL, "Reduced coordinates; 0: rigid.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"radii", radii, METH_VARARGS, radii_doc},
    {"positions", positions, METH_VARARGS, positions_doc},
    {"normals", normals, METH_VARARGS, normals_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(
    tree_doc,
    "PointTree(points, normals, levels, motion, tilt, progress, threads, simd=0, /)\n--\n\n"
    "Hierarchy over points (n, 3); motion and tilt (n, 3, r), or None: rigid.");

static PyType_Spec spec =
    PY_SPEC("PointTree", py_object, {Py_tp_new, tree_new}, {Py_tp_dealloc, py_object_dealloc},
            {Py_tp_methods, methods}, {Py_tp_getset, getset}, {Py_tp_doc, (void *)tree_doc});

const py_room py_point_tree_room = {.types = {{PY_POINT_TREE, &spec}}};
