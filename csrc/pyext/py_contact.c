// The type _core.Contact: contact of a point-tree with a distance field.  A lock guards
// each object, so that threads may share it.
#include <string.h>

#include "base/alloc.h"
#include "contact/contact.h"
#include "contact/fit.h"
#include "contact/law.h"
#include "linalg/dense_rt.h"
#include "pyext/py_contact.h"
#include "pyext/py_convert.h"
#include "pyext/py_deformed_field.h"
#include "pyext/py_field.h"
#include "pyext/py_object.h"
#include "pyext/py_point_tree.h"
#include "pyext/py_reduced.h"
#include "pyext/py_settings.h"

static rf_contact *self_contact(PyObject *self) { return py_held(self); }

static void release(void *contact) { rf_contact_free(contact); }

const rf_contact *py_contact_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_CONTACT, "contact", "Contact");
}

#define SETTING(name, field, kind, count) RF_SETTING(rf_contact_settings, name, field, kind, count)
static const rf_setting SETTINGS[] = {
    SETTING("warm_nodes", warm_nodes, INT32, 0), SETTING("cold_ratio", cold_ratio, DOUBLE, 0),
    SETTING("budget_us", budget_us, DOUBLE, 0),  SETTING("max_points", max_points, INT32, 0),
    SETTING("coherence", coherence, BOOL, 0),    SETTING("along_normal", along_normal, BOOL, 0),
    SETTING("grasp", grasp_m, DOUBLE, 3),        {0},
};

// Converts the settings of a law: memory for rf_free, or NULL.
static void *law_in(py_state *state, const char *name, PyObject *dict, const rf_point_tree *tree,
                    PyObject *held) {
  const rf_contact_law_kind *kind = rf_contact_law_find(name);
  if (!kind) return py_fail(state, PY_INPUT_ERROR, "there is no contact law named %s", name);
  void *law = rf_alloc(1, kind->settings_bytes);
  if (!law) return PyErr_NoMemory();
  if (py_settings_arrays_in(state, dict, name, kind->settings, tree->n_points, held, law) == 0)
    return law;
  rf_free(law);
  return NULL;
}

static int distance_in(py_state *state, PyObject *field, rf_contact_distance *to) {
  if (PyObject_TypeCheck(field, state->types[PY_DEFORMED_FIELD]))
    to->deformed = py_deformed_field_get(state, field);
  else
    to->field = py_field_get(state, field);
  return to->field || to->deformed ? 0 : -1;
}

static PyObject *contact_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *tree_obj, *field_obj, *weights_obj, *law_obj, *settings_obj, *local_obj = Py_None;
  PyObject *kept = NULL, *held = NULL, *self = NULL;
  const char *name;
  py_in weights = {0};
  rf_contact_distance distance = {0};
  rf_contact_settings set = {0};
  void *law = NULL;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOsOO|O:Contact", &tree_obj, &field_obj, &weights_obj, &name,
                        &law_obj, &settings_obj, &local_obj))
    return NULL;
  const rf_contact_local *local = NULL;
  if (local_obj != Py_None && !(local = py_local_get(state, local_obj))) return NULL;
  const rf_point_tree *tree = py_point_tree_get(state, tree_obj);
  if (!tree || distance_in(state, field_obj, &distance) < 0) return NULL;
  if (py_settings_in(state, settings_obj, "contact", SETTINGS, &set) < 0) return NULL;
  if (weights_obj != Py_None &&
      py_in_f64(&weights, weights_obj, "weights", 1, (npy_intp[]){tree->n_points}) < 0)
    goto done;
  kept = PyTuple_Pack(3, tree_obj, field_obj, local_obj);
  held = PyList_New(0);
  if (!kept || !held) goto done;
  law = law_in(state, name, law_obj, tree, held);
  if (!law) goto done;
  rf_contact *contact = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_contact_create(tree, &distance, name, law, &set, weights.data, &contact, &err);
  if (st >= 0 && local) st = rf_contact_set_local(contact, local, &err);
  Py_END_ALLOW_THREADS
  if (st < 0) {
    rf_contact_free(contact);
    py_raise(state, st, &err);
  } else {
    self = py_object_new_locked(type, contact, release, kept);
  }
done:
  rf_free(law);
  PY_XDECREF(kept, held);
  py_in_release(&weights);
  return self;
}

// Converts q (n < 0) or n rows qs of a deformable shell; NULL data for None.
static int q_in(PyObject *self, py_in *q, PyObject *object, npy_intp n) {
  const npy_intp r = rf_contact_coordinates(self_contact(self));
  if (object == Py_None) return 0;
  if (!r) {
    py_fail(py_state_of_object(self), PY_INPUT_ERROR, "%s is given, but the shell is rigid",
            n < 0 ? "q" : "qs");
    return -1;
  }
  if (n < 0) return py_in_f64(q, object, "q", 1, &r);
  return py_in_f64(q, object, "qs", 2, (npy_intp[]){n, r});
}

// Converts field_q or field_qs of a deforming field likewise.
static int field_q_in(PyObject *self, py_in *q, PyObject *object, npy_intp n) {
  const npy_intp r = rf_contact_field_coordinates(self_contact(self));
  if (object == Py_None) return 0;
  if (!r) {
    py_fail(py_state_of_object(self), PY_INPUT_ERROR, "%s is given, but the field does not deform",
            n < 0 ? "field_q" : "field_qs");
    return -1;
  }
  if (n < 0) return py_in_f64(q, object, "field_q", 1, &r);
  return py_in_f64(q, object, "field_qs", 2, (npy_intp[]){n, r});
}

// Returns a new array with a copy of the data.
static PyObject *copied(int ndim, const npy_intp *shape, const double *data) {
  PyObject *out = py_new_f64(ndim, shape);
  if (!out) return NULL;
  const npy_intp count = PyArray_SIZE((PyArrayObject *)out);
  for (npy_intp k = 0; k < count; ++k) py_f64(out)[k] = data[k];
  return out;
}

// Copies the touching points while the lock is held.
static rf_status copy_touches(const rf_contact *p, int32_t n, rf_contact_touch **out,
                              rf_error *err) {
  rf_status st = RF_OK;
  // room for a whole last block
  RF_ALLOC(*out, (size_t)n + RF_CONTACT_BLOCK);
  for (int32_t first = 0; first < n;) first += rf_contact_touches_rt(p, first, *out + first);
done:
  return st;
}

// Returns points, positions, distances, normals and forces.
static PyObject *touches_out(const rf_contact_touch *t, npy_intp n) {
  const npy_intp vectors[2] = {n, 3};
  PyObject *points = py_new_i32(1, &n), *positions = py_new_f64(2, vectors);
  PyObject *distances = py_new_f64(1, &n), *normals = py_new_f64(2, vectors);
  PyObject *forces = py_new_f64(2, vectors);
  const bool all = points && positions && distances && normals && forces;
  for (npy_intp k = 0; all && k < n; ++k) {
    py_i32(points)[k] = t[k].point;
    py_f64(distances)[k] = t[k].gap_m;
    memcpy(py_f64(positions) + 3 * k, t[k].position, sizeof t[k].position);
    memcpy(py_f64(normals) + 3 * k, t[k].normal, sizeof t[k].normal);
    memcpy(py_f64(forces) + 3 * k, t[k].force, sizeof t[k].force);
  }
  // fails on a NULL argument, whose exception is set
  return Py_BuildValue("(NNNNN)", points, positions, distances, normals, forces);
}

static rf_pose pose_of(const double *position, const double *quaternion) {
  rf_pose pose;
  memcpy(pose.position_m, position, sizeof pose.position_m);
  memcpy(pose.quaternion, quaternion, sizeof pose.quaternion);
  return pose;
}

static int check_level(PyObject *self, int all_of) {
  const int levels = rf_contact_levels(self_contact(self));
  if (all_of < levels) return 0;
  py_fail(py_state_of_object(self), PY_INPUT_ERROR, "level must be between 0 and %d, got %d",
          levels - 1, all_of);
  return -1;
}

// Converts the pose of the object and the shell's coordinates; release `q` also on failure.
static int place_in(PyObject *self, PyObject *position_obj, PyObject *quaternion_obj,
                    PyObject *q_obj, rf_pose *pose, py_in *q) {
  py_in position = {0}, quaternion = {0};
  rf_error err = {0};
  int result = -1;
  if (py_in_f64(&position, position_obj, "position", 1, (npy_intp[]){3}) < 0 ||
      py_in_f64(&quaternion, quaternion_obj, "quaternion", 1, (npy_intp[]){4}) < 0 ||
      q_in(self, q, q_obj, -1) < 0)
    goto done;
  *pose = pose_of(position.data, quaternion.data);
  const rf_status st = rf_contact_check(self_contact(self), pose, q->data, &err);
  if (st < 0)
    py_raise(py_state_of_object(self), st, &err);
  else
    result = 0;
done:
  PY_IN_RELEASE(&position, &quaternion);
  return result;
}

// Evaluates one cycle, with the lock held; `list`: touching points, nullable.
static rf_status one_cycle(rf_contact *contact, const rf_pose *pose, const double *q,
                           const double *field_q, int32_t all_of, rf_contact_result *found,
                           double *reduced, double *field_reduced, const rf_contact_blocks *blocks,
                           rf_contact_touch **list, rf_error *err) {
  rf_status st = rf_contact_deform_field_rt(contact, field_q);
  // finite coordinates that pass the checks can still overflow the places of proxies
  if (st == RF_ERR_ARG)
    return rf_fail(err, st, "field_q is so large that positions of proxies overflow");
  if (st >= 0)
    st = rf_contact_evaluate_rt(contact, pose, q, all_of, found, reduced, field_reduced, blocks);
  if (st >= 0 && list) st = copy_touches(contact, found->touching, list, err);
  return st;
}

PyDoc_STRVAR(
    evaluate_doc,
    "evaluate($self, position, quaternion, q, all_of, contacts, field_q=None, /)\n--\n\n"
    "Evaluate one cycle: (force, torque, gradient, reduced force or None, visited, skipped,\n"
    "touching, level, depth, microseconds, reduced force on the field or None, contacts\n"
    "or None). all_of >= 0: all points of levels up to it, without the tree.");
static PyObject *evaluate(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *position_obj, *quaternion_obj, *q_obj, *field_q_obj = Py_None, *result = NULL,
                                                   *reduced = NULL;
  PyObject *contacts = NULL, *field_reduced = NULL, *out[3] = {NULL};
  py_in q = {0}, field_q = {0};
  rf_pose pose;
  rf_contact_touch *list = NULL;
  int all_of, wanted;
  if (!PyArg_ParseTuple(args, "OOOip|O:evaluate", &position_obj, &quaternion_obj, &q_obj, &all_of,
                        &wanted, &field_q_obj))
    return NULL;
  if (check_level(self, all_of) < 0) return NULL;
  if (place_in(self, position_obj, quaternion_obj, q_obj, &pose, &q) < 0 ||
      field_q_in(self, &field_q, field_q_obj, -1) < 0)
    goto done;
  const npy_intp r = rf_contact_coordinates(self_contact(self));
  const npy_intp s = rf_contact_field_coordinates(self_contact(self));
  reduced = r ? py_new_f64(1, &r) : Py_NewRef(Py_None);
  field_reduced = s ? py_new_f64(1, &s) : Py_NewRef(Py_None);
  if (!reduced || !field_reduced) goto done;
  double *to = r ? py_f64(reduced) : NULL, *field_to = s ? py_f64(field_reduced) : NULL;
  rf_contact_result found = {0};
  rf_error err = {0};
  rf_status st;
  PY_UNDER_LOCK(self, st = one_cycle(self_contact(self), &pose, q.data, field_q.data, all_of,
                                     &found, to, field_to, NULL, wanted ? &list : NULL, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  contacts = wanted ? touches_out(list, found.touching) : Py_NewRef(Py_None);
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
  PY_XDECREF(contacts, reduced, field_reduced);
  rf_free(list);
  PY_IN_RELEASE(&q, &field_q);
  return result;
}

PyDoc_STRVAR(
    derivatives_doc,
    "derivatives($self, position, quaternion, q, all_of, /)\n--\n\n"
    "Derivatives in a cycle of a deformable shell, with fixed directions: of (force, torque)\n"
    "by q, (6, r), and of the reduced force by (dx, dw), (r, 6), and by q, (r, r).");
static PyObject *derivatives(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *position_obj, *quaternion_obj, *q_obj, *out[3] = {NULL}, *result = NULL;
  py_in q = {0};
  rf_pose pose;
  rf_contact_blocks found = {0};
  int all_of;
  const npy_intp r = rf_contact_coordinates(self_contact(self));
  if (!PyArg_ParseTuple(args, "OOOi:derivatives", &position_obj, &quaternion_obj, &q_obj, &all_of))
    return NULL;
  if (!r)
    return py_fail(state, PY_INPUT_ERROR, "the shell is rigid: it has no coordinates to derive by");
  if (check_level(self, all_of) < 0) return NULL;
  if (place_in(self, position_obj, quaternion_obj, q_obj, &pose, &q) < 0) goto done;
  const npy_intp ld = rf_dense_ld((int32_t)r);
  rf_contact_result cycle = {0};
  rf_error err = {0};
  rf_status st = RF_OK;
  found.mixed = rf_alloc(8 * (size_t)ld, sizeof(double));
  found.shell = rf_alloc((size_t)(ld * ld), sizeof(double));
  if (!found.mixed || !found.shell) {
    st = rf_fail(&err, RF_ERR_MEMORY, "out of memory: derivatives of a contact");
    py_raise(state, st, &err);
    goto done;
  }
  PY_UNDER_LOCK(self, st = one_cycle(self_contact(self), &pose, q.data, NULL, all_of, &cycle, NULL,
                                     NULL, &found, NULL, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  out[0] = py_new_f64(2, (npy_intp[]){6, r});
  out[1] = py_new_f64(2, (npy_intp[]){r, 6});
  out[2] = py_new_f64(2, (npy_intp[]){r, r});
  if (!out[0] || !out[1] || !out[2]) goto done;
  for (npy_intp j = 0; j < r; ++j) {
    for (npy_intp i = 0; i < 6; ++i)
      py_f64(out[0])[r * i + j] = py_f64(out[1])[6 * j + i] = found.mixed[ld * i + j];
    for (npy_intp i = 0; i < r; ++i) py_f64(out[2])[r * i + j] = found.shell[ld * i + j];
  }
  result = PyTuple_Pack(3, out[0], out[1], out[2]);
done:
  for (int i = 0; i < 3; ++i) Py_XDECREF(out[i]);
  rf_free(found.mixed);
  rf_free(found.shell);
  py_in_release(&q);
  return result;
}

PyObject *py_contact_results(npy_intp n, const rf_contact_result *found, PyObject *reduced,
                             PyObject *field_reduced, PyObject *contacts) {
  PyObject *force = py_new_f64(2, (npy_intp[]){n, 3}), *torque = py_new_f64(2, (npy_intp[]){n, 3});
  PyObject *gradient = py_new_f64(3, (npy_intp[]){n, 6, 6});
  PyObject *visited = py_new_i32(1, &n), *skipped = py_new_i32(1, &n);
  PyObject *touch = py_new_i32(1, &n), *level = py_new_i32(1, &n);
  PyObject *depth = py_new_f64(1, &n), *us = py_new_f64(1, &n);
  if (force && torque && gradient && visited && skipped && touch && level && depth && us)
    for (npy_intp k = 0; k < n; ++k) {
      const rf_contact_result *one = found + k;
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
  // fails on a NULL argument, whose exception is set
  return Py_BuildValue("(NNNONNNNNNOO)", force, torque, gradient, reduced, visited, skipped, touch,
                       level, depth, us, field_reduced, contacts);
}

PyDoc_STRVAR(
    many_doc,
    "evaluate_many($self, positions, quaternions, qs, all_of, contacts, progress,\n"
    "              field_qs=None, /)\n--\n\n"
    "Evaluate a trajectory: the results of `evaluate` as arrays over its cycles, contacts as\n"
    "a tuple.");
static PyObject *evaluate_many(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *positions_obj, *quaternions_obj, *qs_obj, *field_qs_obj = Py_None, *progress,
                                                      *result = NULL;
  PyObject *reduced = NULL, *field_reduced = NULL, *contacts = NULL;
  py_in positions = {0}, quaternions = {0}, qs = {0}, field_qs = {0};
  rf_contact_result *found = NULL;
  rf_contact_touch **lists = NULL;
  npy_intp n = 0;
  int all_of, wanted;
  py_run run;
  if (!PyArg_ParseTuple(args, "OOOipO|O:evaluate_many", &positions_obj, &quaternions_obj, &qs_obj,
                        &all_of, &wanted, &progress, &field_qs_obj) ||
      py_run_init(state, &run, progress, 1) < 0)
    return NULL;
  if (check_level(self, all_of) < 0) return NULL;
  if (py_in_f64(&positions, positions_obj, "positions", 2, (npy_intp[]){PY_ANY, 3}) < 0) goto done;
  n = positions.shape[0];
  if (py_in_f64(&quaternions, quaternions_obj, "quaternions", 2, (npy_intp[]){n, 4}) < 0 ||
      q_in(self, &qs, qs_obj, n) < 0 || field_q_in(self, &field_qs, field_qs_obj, n) < 0)
    goto done;
  const npy_intp r = rf_contact_coordinates(self_contact(self));
  const npy_intp s = rf_contact_field_coordinates(self_contact(self));
  reduced = r ? py_new_f64(2, (npy_intp[]){n, r}) : Py_NewRef(Py_None);
  field_reduced = s ? py_new_f64(2, (npy_intp[]){n, s}) : Py_NewRef(Py_None);
  found = rf_alloc((size_t)n, sizeof *found);
  if (wanted) lists = rf_alloc((size_t)n, sizeof *lists);
  if (!found || (wanted && !lists)) PyErr_NoMemory();
  if (!reduced || !field_reduced || !found || (wanted && !lists)) goto done;
  double *to = r ? py_f64(reduced) : NULL, *field_to = s ? py_f64(field_reduced) : NULL;
  const double *field_q = field_qs.data;
  const double *x = positions.data, *a = quaternions.data, *q = qs.data;
  rf_error err = {0}, why = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_contact_check_many(self_contact(self), n, x, a, q, &err);
  // the lock is held for a few cycles at a time and never while Python is called
  const npy_intp chunk = 64;
  for (npy_intp from = 0; from < n && st >= 0; from += chunk) {
    const npy_intp end = n - from < chunk ? n : from + chunk;
    py_lock(self);
    for (npy_intp k = from; k < end && st >= 0; ++k) {
      const rf_pose pose = pose_of(x + 3 * k, a + 4 * k);
      st = one_cycle(self_contact(self), &pose, q ? q + r * k : NULL,
                     field_q ? field_q + s * k : NULL, all_of, found + k, to ? to + r * k : NULL,
                     field_to ? field_to + s * k : NULL, NULL, lists ? lists + k : NULL, &why);
      if (st < 0) st = rf_fail(&err, st, "cycle %lld: %.400s", (long long)k, why.text);
    }
    py_unlock(self);
    if (st >= 0) st = rf_run_progress(&run.run, end, n, &err);
  }
  Py_END_ALLOW_THREADS
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  contacts = wanted ? PyTuple_New(n) : Py_NewRef(Py_None);
  for (npy_intp k = 0; contacts && wanted && k < n; ++k) {
    PyObject *one = touches_out(lists[k], found[k].touching);
    if (one)
      PyTuple_SET_ITEM(contacts, k, one);
    else
      Py_CLEAR(contacts);
  }
  if (contacts) result = py_contact_results(n, found, reduced, field_reduced, contacts);
done:
  for (npy_intp k = 0; lists && k < n; ++k) rf_free(lists[k]);
  rf_free(lists);
  rf_free(found);
  PY_XDECREF(contacts, reduced, field_reduced);
  PY_IN_RELEASE(&positions, &quaternions, &qs, &field_qs);
  return result;
}

PyDoc_STRVAR(reset_doc,
             "reset($self, /)\n--\n\n"
             "Forget all earlier cycles.");
static PyObject *reset(PyObject *self, PyObject *unused) {
  (void)unused;
  PY_UNDER_LOCK(self, rf_contact_reset(self_contact(self)));
  Py_RETURN_NONE;
}

PyDoc_STRVAR(stiffest_doc,
             "stiffest($self, coupling, depth, /)\n--\n\n"
             "Upper bound of the stiffness of a point of weight 1 at this depth [N/m], where a\n"
             "coupling of this stiffness holds the field object.");
static PyObject *stiffest(PyObject *self, PyObject *args) {
  double coupling, depth, found = 0.0;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "dd:stiffest", &coupling, &depth)) return NULL;
  PY_UNDER_LOCK(self, st = rf_contact_stiffest(self_contact(self), coupling, depth, &found, &err));
  return st < 0 ? py_raise(py_state_of_object(self), st, &err) : PyFloat_FromDouble(found);
}

static PyMethodDef methods[] = {
    {"evaluate", evaluate, METH_VARARGS, evaluate_doc},
    {"derivatives", derivatives, METH_VARARGS, derivatives_doc},
    {"evaluate_many", evaluate_many, METH_VARARGS, many_doc},
    {"reset", reset, METH_NOARGS, reset_doc},
    {"stiffest", stiffest, METH_VARARGS, stiffest_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(
    fit_doc,
    "fit_stiffness(tree, reduced, field, field_reduced, /)\n--\n\n"
    "Stiffness of each point [N/m], shape (n,), by the compliance of the deforming bodies: a\n"
    "Reduced under the tree or None, a DeformedField and its Reduced or None. None if no\n"
    "body is compliant.");
static PyObject *fit_stiffness(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *tree_obj, *model_obj, *field_obj, *field_model_obj;
  const rf_reduced *model = NULL, *field_model = NULL;
  const rf_deformed_field *field = NULL;
  if (!PyArg_ParseTuple(args, "OOOO:fit_stiffness", &tree_obj, &model_obj, &field_obj,
                        &field_model_obj))
    return NULL;
  const rf_point_tree *tree = py_point_tree_get(state, tree_obj);
  if (!tree) return NULL;
  if (model_obj != Py_None && !(model = py_reduced_get(state, model_obj))) return NULL;
  if (field_obj != Py_None) {
    field = py_deformed_field_get(state, field_obj);
    field_model = field ? py_reduced_get(state, field_model_obj) : NULL;
    if (!field_model) return NULL;
  }
  PyObject *out = py_new_f64(1, (npy_intp[]){tree->n_points});
  if (!out) return NULL;
  double *to = py_f64(out);
  bool fitted = false;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_fit_stiffness(tree, model, field, field_model, to, &fitted, &err));
  if (st >= 0 && !fitted) {
    Py_DECREF(out);
    Py_RETURN_NONE;
  }
  return py_result(state, st, &err, out);
}

PyDoc_STRVAR(
    suited_doc,
    "suited_stiffness(stiffness, /)\n--\n\n"
    "Stiffness [N/m] of a contact point that suits a coupling of the given stiffness [N/m].");
static PyObject *suited_stiffness(PyObject *module, PyObject *args) {
  double stiffness;
  (void)module;
  if (!PyArg_ParseTuple(args, "d:suited_stiffness", &stiffness)) return NULL;
  return PyFloat_FromDouble(rf_contact_suited_rt(stiffness));
}

PyMethodDef py_contact_functions[] = {
    {"suited_stiffness", suited_stiffness, METH_VARARGS, suited_doc},
    {"fit_stiffness", fit_stiffness, METH_VARARGS, fit_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(contact_doc,
             "Contact(tree, field, weights, law, law_settings, settings, local=None, /)\n--\n\n"
             "Contact of a PointTree with a Field by the law of this name; settings are dicts.");

PyType_Spec py_contact_spec = PY_SPEC_KEEPING(
    "Contact", py_object, {Py_tp_new, contact_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, methods}, {Py_tp_doc, (void *)contact_doc});
