// The type _core.Contact: penalty contact of a point-tree with a distance field, guarded by a lock
// of its own so that threads may share it.
#include "base/alloc.h"
#include "contact/penalty.h"
#include "pyext/py_convert.h"
#include "pyext/py_deformed_field.h"
#include "pyext/py_field.h"
#include "pyext/py_point_tree.h"

typedef struct py_contact {
  PyObject_HEAD PyObject *tree, *field;  // strong: the contact borrows their C data
  PyThread_type_lock lock;
  rf_penalty *penalty;
  int32_t n_levels;
} py_contact;

// takes the penalty over, also on failure
static PyObject *wrap(PyTypeObject *type, PyObject *tree, PyObject *field, rf_penalty *penalty,
                      int32_t n_levels) {
  py_contact *self = (py_contact *)type->tp_alloc(type, 0);
  if (!self) {
    rf_penalty_free(penalty);
    return NULL;
  }
  self->penalty = penalty;
  self->n_levels = n_levels;
  self->tree = Py_NewRef(tree);
  self->field = Py_NewRef(field);
  self->lock = PyThread_allocate_lock();
  if (!self->lock) {
    PyErr_NoMemory();
    Py_CLEAR(self);
  }
  return (PyObject *)self;
}

static PyObject *contact_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *tree_obj, *field_obj, *weights_obj, *grasp_obj, *self = NULL;
  py_in weights = {0}, grasp = {0};
  rf_penalty_settings set = {0};
  int coherence, along_normal, warm_nodes, max_points;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOdiddippO:Contact", &tree_obj, &field_obj, &weights_obj,
                        &set.stiffness_n_per_m, &warm_nodes, &set.cold_ratio, &set.budget_us,
                        &max_points, &coherence, &along_normal, &grasp_obj))
    return NULL;
  set.warm_nodes = warm_nodes;
  set.max_points = max_points;
  set.coherence = coherence;
  set.along_normal = along_normal;
  const rf_point_tree *tree = py_point_tree_get(state, tree_obj);
  rf_oracle oracle = {.field = NULL};
  if (!tree) return NULL;
  if (PyObject_TypeCheck(field_obj, state->types[PY_DEFORMED_FIELD]))
    oracle.deformed = py_deformed_field_get(state, field_obj);
  else
    oracle.field = py_field_get(state, field_obj);
  if (!oracle.field && !oracle.deformed) return NULL;
  if (py_in_f64(&grasp, grasp_obj, "grasp", 1, (npy_intp[]){3}) < 0) goto done;
  if (weights_obj != Py_None &&
      py_in_f64(&weights, weights_obj, "weights", 1, (npy_intp[]){tree->n_points}) < 0)
    goto done;
  for (int i = 0; i < 3; ++i) set.grasp_m[i] = ((double *)grasp.data)[i];
  rf_penalty *penalty = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_penalty_create(tree, &oracle, &set, weights.data, &penalty, &err);
  Py_END_ALLOW_THREADS
  self =
      st < 0 ? py_raise(state, st, &err) : wrap(type, tree_obj, field_obj, penalty, tree->n_levels);
done:
  py_in_release(&weights);
  py_in_release(&grasp);
  return self;
}

// No tp_clear: trees and fields refer to no contact, so no cycle runs through here.
static int contact_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((py_contact *)self)->tree);
  Py_VISIT(((py_contact *)self)->field);
  return 0;
}

static void contact_dealloc(PyObject *object) {
  py_contact *self = (py_contact *)object;
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  rf_penalty_free(self->penalty);
  if (self->lock) PyThread_free_lock(self->lock);
  Py_CLEAR(self->tree);
  Py_CLEAR(self->field);
  type->tp_free(object);
  Py_DECREF(type);
}

// q of a deformable shell, or NULL data for None
static int q_in(py_contact *self, py_in *q, PyObject *object, npy_intp n) {
  const npy_intp r = rf_penalty_coordinates(self->penalty);
  if (object == Py_None) return 0;
  if (!r) {
    py_fail(py_state_of_object((PyObject *)self), "InputError",
            "%s is given, but the shell is rigid", n < 0 ? "q" : "qs");
    return -1;
  }
  if (n < 0) return py_in_f64(q, object, "q", 1, &r);
  return py_in_f64(q, object, "qs", 2, (npy_intp[]){n, r});
}

// the same of a field that deforms
static int field_q_in(py_contact *self, py_in *q, PyObject *object, npy_intp n) {
  const npy_intp r = rf_penalty_field_coordinates(self->penalty);
  if (object == Py_None) return 0;
  if (!r) {
    py_fail(py_state_of_object((PyObject *)self), "InputError",
            "%s is given, but the field does not deform", n < 0 ? "field_q" : "field_qs");
    return -1;
  }
  if (n < 0) return py_in_f64(q, object, "field_q", 1, &r);
  return py_in_f64(q, object, "field_qs", 2, (npy_intp[]){n, r});
}

// what begin() and the checks before let pass, only a field refuses
static rf_status say_field(rf_status st, rf_error *err) {
  if (st == RF_ERR_ARG && !err->text[0])
    return rf_fail(err, st, "field_q is so large that places of proxies are no usable numbers");
  return st;
}

// fresh array with a copy of some numbers
static PyObject *copied(int ndim, const npy_intp *shape, const double *data) {
  PyObject *out = py_new_f64(ndim, shape);
  if (!out) return NULL;
  const npy_intp count = PyArray_SIZE((PyArrayObject *)out);
  for (npy_intp k = 0; k < count; ++k) py_f64(out)[k] = data[k];
  return out;
}

// touching points, copied while the lock is held
typedef struct touching {
  int32_t n, *point;
  double *positions, *distances, *normals, *forces;
} touching;

static void release_touching(touching *c) {
  rf_free(c->point);
  rf_free(c->positions);
  rf_free(c->distances);
  rf_free(c->normals);
  rf_free(c->forces);
}

static rf_status copy_touching(const rf_penalty *p, int32_t n, touching *c, rf_error *err) {
  rf_status st = RF_OK;
  c->n = n;
  RF_ALLOC(c->point, n);
  RF_ALLOC(c->positions, 3 * (size_t)n);
  RF_ALLOC(c->distances, n);
  RF_ALLOC(c->normals, 3 * (size_t)n);
  RF_ALLOC(c->forces, 3 * (size_t)n);
  rf_penalty_contacts(p, c->point, c->positions, c->distances, c->normals, c->forces);
done:
  return st;
}

static PyObject *touching_out(const touching *c) {
  const npy_intp n = c->n, vectors[2] = {n, 3};
  PyObject *points = py_new_i32(1, &n), *out[4];
  for (npy_intp k = 0; points && k < n; ++k) py_i32(points)[k] = c->point[k];
  out[0] = copied(2, vectors, c->positions);
  out[1] = copied(1, &n, c->distances);
  out[2] = copied(2, vectors, c->normals);
  out[3] = copied(2, vectors, c->forces);
  // a NULL among them makes this fail, with the exception that is set
  return Py_BuildValue("(NNNNN)", points, out[0], out[1], out[2], out[3]);
}

PyDoc_STRVAR(evaluate_doc,
             "evaluate($self, position, quaternion, q, all_of, contacts, field_q=None, /)\n--\n\n"
             "One cycle: (force, torque, gradient, reduced force or None, visited, skipped,\n"
             "touching, level, depth, microseconds, reduced force on the field or None, contacts\n"
             "or None); all_of >= 0: all points of levels up to it, without the tree.");
static PyObject *evaluate(PyObject *object, PyObject *args) {
  py_contact *self = (py_contact *)object;
  py_state *state = py_state_of_object(object);
  PyObject *position_obj, *quaternion_obj, *q_obj, *field_q_obj = Py_None, *result = NULL,
                                                   *reduced = NULL;
  PyObject *contacts = NULL, *field_reduced = NULL, *out[3] = {NULL};
  py_in position = {0}, quaternion = {0}, q = {0}, field_q = {0};
  touching list = {0};
  int all_of, wanted;
  if (!PyArg_ParseTuple(args, "OOOip|O:evaluate", &position_obj, &quaternion_obj, &q_obj, &all_of,
                        &wanted, &field_q_obj))
    return NULL;
  if (all_of >= self->n_levels)
    return py_fail(state, "InputError", "level must be between 0 and %d, got %d",
                   self->n_levels - 1, all_of);
  if (py_in_f64(&position, position_obj, "position", 1, (npy_intp[]){3}) < 0 ||
      py_in_f64(&quaternion, quaternion_obj, "quaternion", 1, (npy_intp[]){4}) < 0 ||
      q_in(self, &q, q_obj, -1) < 0 || field_q_in(self, &field_q, field_q_obj, -1) < 0)
    goto done;
  const npy_intp r = rf_penalty_coordinates(self->penalty);
  const npy_intp s = rf_penalty_field_coordinates(self->penalty);
  reduced = r ? py_new_f64(1, &r) : Py_NewRef(Py_None);
  field_reduced = s ? py_new_f64(1, &s) : Py_NewRef(Py_None);
  if (!reduced || !field_reduced) goto done;
  double *to = r ? py_f64(reduced) : NULL, *field_to = s ? py_f64(field_reduced) : NULL;
  rf_pose pose;
  for (int i = 0; i < 3; ++i) pose.position_m[i] = ((double *)position.data)[i];
  for (int i = 0; i < 4; ++i) pose.quaternion[i] = ((double *)quaternion.data)[i];
  rf_penalty_result found = {0};
  rf_error err = {0};
  rf_status st = rf_penalty_check(self->penalty, &pose, q.data, &err);
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  Py_BEGIN_ALLOW_THREADS
  PyThread_acquire_lock(self->lock, WAIT_LOCK);
  st = rf_penalty_deform_field_rt(self->penalty, field_q.data);
  if (st >= 0)
    st = rf_penalty_evaluate_rt(self->penalty, &pose, q.data, all_of, &found, to, field_to);
  st = say_field(st, &err);
  if (st >= 0 && wanted) st = copy_touching(self->penalty, found.touching, &list, &err);
  PyThread_release_lock(self->lock);
  Py_END_ALLOW_THREADS
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  contacts = wanted ? touching_out(&list) : Py_NewRef(Py_None);
  if (!contacts) goto done;
  out[0] = copied(1, (npy_intp[]){3}, found.force_n);
  out[1] = copied(1, (npy_intp[]){3}, found.torque_nm);
  out[2] = copied(2, (npy_intp[]){6, 6}, found.gradient);
  if (!out[0] || !out[1] || !out[2]) goto done;
  result = Py_BuildValue("(OOOOiiiiddOO)", out[0], out[1], out[2], reduced, (int)found.visited,
                         (int)found.skipped, (int)found.touching, (int)found.level, found.depth_m,
                         found.microseconds, field_reduced, contacts);
done:
  for (int i = 0; i < 3; ++i) Py_XDECREF(out[i]);
  Py_XDECREF(contacts);
  Py_XDECREF(reduced);
  Py_XDECREF(field_reduced);
  release_touching(&list);
  py_in_release(&position);
  py_in_release(&quaternion);
  py_in_release(&q);
  py_in_release(&field_q);
  return result;
}

// numbers of all cycles as arrays
static PyObject *results_out(npy_intp n, const rf_penalty_result *found, PyObject *reduced,
                             PyObject *field_reduced) {
  PyObject *force = py_new_f64(2, (npy_intp[]){n, 3}), *torque = py_new_f64(2, (npy_intp[]){n, 3});
  PyObject *gradient = py_new_f64(3, (npy_intp[]){n, 6, 6});
  PyObject *visited = py_new_i32(1, &n), *skipped = py_new_i32(1, &n);
  PyObject *touch = py_new_i32(1, &n), *level = py_new_i32(1, &n);
  PyObject *depth = py_new_f64(1, &n), *us = py_new_f64(1, &n);
  if (force && torque && gradient && visited && skipped && touch && level && depth && us)
    for (npy_intp k = 0; k < n; ++k) {
      const rf_penalty_result *one = found + k;
      for (int i = 0; i < 3; ++i) {
        py_f64(force)[3 * k + i] = one->force_n[i];
        py_f64(torque)[3 * k + i] = one->torque_nm[i];
      }
      for (int i = 0; i < 36; ++i) py_f64(gradient)[36 * k + i] = one->gradient[i];
      py_i32(visited)[k] = one->visited;
      py_i32(skipped)[k] = one->skipped;
      py_i32(touch)[k] = one->touching;
      py_i32(level)[k] = one->level;
      py_f64(depth)[k] = one->depth_m;
      py_f64(us)[k] = one->microseconds;
    }
  // a NULL among them makes this fail, with the exception that is set
  return Py_BuildValue("(NNNONNNNNNO)", force, torque, gradient, reduced, visited, skipped, touch,
                       level, depth, us, field_reduced);
}

PyDoc_STRVAR(many_doc,
             "evaluate_many($self, positions, quaternions, qs, progress, field_qs=None, /)\n--\n\n"
             "A trajectory: what `evaluate` gives, as arrays over its cycles, without contacts.");
static PyObject *evaluate_many(PyObject *object, PyObject *args) {
  py_contact *self = (py_contact *)object;
  py_state *state = py_state_of_object(object);
  PyObject *positions_obj, *quaternions_obj, *qs_obj, *field_qs_obj = Py_None, *progress,
                                                      *result = NULL;
  PyObject *reduced = NULL, *field_reduced = NULL;
  py_in positions = {0}, quaternions = {0}, qs = {0}, field_qs = {0};
  rf_penalty_result *found = NULL;
  py_run run;
  if (!PyArg_ParseTuple(args, "OOOO|O:evaluate_many", &positions_obj, &quaternions_obj, &qs_obj,
                        &progress, &field_qs_obj) ||
      py_run_init(state, &run, progress, 1) < 0)
    return NULL;
  if (py_in_f64(&positions, positions_obj, "positions", 2, (npy_intp[]){PY_ANY, 3}) < 0) goto done;
  const npy_intp n = positions.shape[0];
  if (py_in_f64(&quaternions, quaternions_obj, "quaternions", 2, (npy_intp[]){n, 4}) < 0 ||
      q_in(self, &qs, qs_obj, n) < 0 || field_q_in(self, &field_qs, field_qs_obj, n) < 0)
    goto done;
  const npy_intp r = rf_penalty_coordinates(self->penalty);
  const npy_intp s = rf_penalty_field_coordinates(self->penalty);
  reduced = r ? py_new_f64(2, (npy_intp[]){n, r}) : Py_NewRef(Py_None);
  field_reduced = s ? py_new_f64(2, (npy_intp[]){n, s}) : Py_NewRef(Py_None);
  found = rf_alloc((size_t)n, sizeof *found);
  if (!found) PyErr_NoMemory();
  if (!reduced || !field_reduced || !found) goto done;
  double *to = r ? py_f64(reduced) : NULL, *field_to = s ? py_f64(field_reduced) : NULL;
  const double *field_q = field_qs.data;
  const double *x = positions.data, *a = quaternions.data, *q = qs.data;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_penalty_check_many(self->penalty, n, x, a, q, &err);
  // the lock is held for some cycles only and never while Python is called
  const npy_intp chunk = 64;
  for (npy_intp k = 0; k < n && st >= 0; k += chunk) {
    const npy_intp count = n - k < chunk ? n - k : chunk;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    st = rf_penalty_evaluate_many_rt(self->penalty, count, x + 3 * k, a + 4 * k,
                                     q ? q + r * k : NULL, field_q ? field_q + s * k : NULL,
                                     found + k, to ? to + r * k : NULL,
                                     field_to ? field_to + s * k : NULL);
    PyThread_release_lock(self->lock);
    st = say_field(st, &err);
    if (st >= 0) st = rf_run_progress(&run.run, k + count, n, &err);
  }
  Py_END_ALLOW_THREADS
  if (st < 0)
    py_raise(state, st, &err);
  else
    result = results_out(n, found, reduced, field_reduced);
done:
  rf_free(found);
  Py_XDECREF(reduced);
  Py_XDECREF(field_reduced);
  py_in_release(&positions);
  py_in_release(&quaternions);
  py_in_release(&qs);
  py_in_release(&field_qs);
  return result;
}

PyDoc_STRVAR(reset_doc,
             "reset($self, /)\n--\n\n"
             "Forget all earlier cycles.");
static PyObject *reset(PyObject *object, PyObject *unused) {
  (void)unused;
  py_contact *self = (py_contact *)object;
  Py_BEGIN_ALLOW_THREADS
  PyThread_acquire_lock(self->lock, WAIT_LOCK);
  rf_penalty_reset(self->penalty);
  PyThread_release_lock(self->lock);
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"evaluate", evaluate, METH_VARARGS, evaluate_doc},
    {"evaluate_many", evaluate_many, METH_VARARGS, many_doc},
    {"reset", reset, METH_NOARGS, reset_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(contact_doc,
             "Contact(tree, field, weights, stiffness, warm_nodes, cold_ratio, budget_us, "
             "max_points, coherence, along_normal, grasp, /)\n--\n\n"
             "Penalty contact of a PointTree with a Field.");

static PyType_Slot slots[] = {
    {Py_tp_new, contact_new}, {Py_tp_dealloc, contact_dealloc}, {Py_tp_traverse, contact_traverse},
    {Py_tp_methods, methods}, {Py_tp_doc, (void *)contact_doc}, {0, NULL},
};

PyType_Spec py_contact_spec = {
    .name = "reducedfem._core.Contact",
    .basicsize = sizeof(py_contact),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
