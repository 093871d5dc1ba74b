// _core.World: many free bodies in contact.
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "pyext/py_contact.h"
#include "pyext/py_convert.h"
#include "pyext/py_deformed_field.h"
#include "pyext/py_field.h"
#include "pyext/py_free_body.h"
#include "pyext/py_object.h"
#include "pyext/py_point_tree.h"
#include "pyext/py_settings.h"
#include "world/broad.h"
#include "world/multibody.h"

static void release(void *world) { rf_multibody_free(world); }

#define SETTING(name, field, kind, count) \
  RF_SETTING(rf_multibody_settings, name, field, kind, count)
static const rf_setting SETTINGS[] = {SETTING("dt", dt_s, DOUBLE, 0),
                                      SETTING("gravity", gravity, DOUBLE, 3),
                                      SETTING("ground_friction", ground_friction, DOUBLE, 0),
                                      SETTING("contact_damping", contact_damping, DOUBLE, 0),
                                      SETTING("tol", tolerance, DOUBLE, 0),
                                      SETTING("iterations", most_iterations, INT32, 0),
                                      SETTING("least_work", least_work, DOUBLE, 0),
                                      {0}};

static PyObject *world_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *settings, *ground_obj;
  rf_multibody_settings set = {0};
  rf_multibody *world = NULL;
  rf_error err = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OO:World", &settings, &ground_obj) ||
      py_settings_in(state, settings, "world", SETTINGS, &set) < 0)
    return NULL;
  if (ground_obj != Py_None && !(set.ground = py_field_get(state, ground_obj))) return NULL;
  // all that the world borrows, now and later
  PyObject *kept = PyList_New(0);
  if (!kept || PyList_Append(kept, ground_obj) < 0) {
    Py_XDECREF(kept);
    return NULL;
  }
  const rf_status st = rf_multibody_create(&set, &world, &err);
  PyObject *self =
      st < 0 ? py_raise(state, st, &err) : py_object_new_locked(type, world, release, kept);
  Py_DECREF(kept);
  return self;
}

static int keep(PyObject *self, PyObject *object) {
  return PyList_Append(((py_object *)self)->kept, object);
}

PyDoc_STRVAR(add_shape_doc,
             "add_shape($self, tree, field, stiffness, each, local, /)\n--\n\n"
             "Add the contact of bodies of one shape: a PointTree or None, a Field, DeformedField\n"
             "or None, the stiffness of a point [N/m], or one of each (n,), a LocalCompliance or\n"
             "None.");
static PyObject *add_shape(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *tree_obj, *field_obj, *each_obj, *local_obj, *result = NULL;
  rf_multibody_shape shape = {0};
  py_in each = {0};
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OOdOO:add_shape", &tree_obj, &field_obj, &shape.stiffness, &each_obj,
                        &local_obj))
    return NULL;
  if (local_obj != Py_None && !(shape.local = py_local_get(state, local_obj))) return NULL;
  if (tree_obj != Py_None && !(shape.tree = py_point_tree_get(state, tree_obj))) return NULL;
  if (field_obj != Py_None) {
    if (Py_TYPE(field_obj) == state->types[PY_DEFORMED_FIELD])
      shape.deformed = py_deformed_field_get(state, field_obj);
    else if (!(shape.field = py_field_get(state, field_obj)))
      return NULL;
  }
  if (each_obj != Py_None && shape.tree &&
      py_in_f64(&each, each_obj, "each", 1, (npy_intp[]){shape.tree->n_points}) < 0)
    return NULL;
  shape.each = each.data;
  if (keep(self, tree_obj) < 0 || keep(self, field_obj) < 0 || keep(self, local_obj) < 0) goto done;
  rf_status st;
  PY_UNDER_LOCK(self, st = rf_multibody_add_shape(py_held(self), &shape, &err));
  result = st < 0 ? py_raise(state, st, &err) : Py_NewRef(Py_None);
done:
  py_in_release(&each);
  return result;
}

PyDoc_STRVAR(add_doc,
             "add($self, body, shape, friction, /)\n--\n\n"
             "Add a copy of a FreeBody with the shape of a number (-1: it touches nothing) and a\n"
             "coefficient of friction.");
static PyObject *add(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *object;
  int shape;
  double friction;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "Oid:add", &object, &shape, &friction)) return NULL;
  const rf_free_body *body = py_free_body_get(state, object);
  if (!body || keep(self, object) < 0) return NULL;
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  py_lock(object);
  st = rf_multibody_add(py_held(self), body, shape, friction, &err);
  py_unlock(object);
  py_unlock(self);
  Py_END_ALLOW_THREADS
  return st < 0 ? py_raise(state, st, &err) : Py_NewRef(Py_None);
}

PyDoc_STRVAR(add_fixed_doc,
             "add_fixed($self, position, quaternion, shape, friction, /)\n--\n\n"
             "Add a fixed shell with the shape of a number, at the pose of its frame.");
static PyObject *add_fixed(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *result = NULL, *position, *quaternion;
  py_in place = {0}, turn = {0};
  rf_pose pose;
  int shape;
  double friction;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OOid:add_fixed", &position, &quaternion, &shape, &friction))
    return NULL;
  if (py_in_f64(&place, position, "position", 1, (npy_intp[]){3}) < 0 ||
      py_in_f64(&turn, quaternion, "quaternion", 1, (npy_intp[]){4}) < 0)
    goto done;
  memcpy(pose.position_m, place.data, sizeof pose.position_m);
  memcpy(pose.quaternion, turn.data, sizeof pose.quaternion);
  rf_status st;
  PY_UNDER_LOCK(self, st = rf_multibody_add_fixed(py_held(self), &pose, shape, friction, &err));
  result = st < 0 ? py_raise(state, st, &err) : Py_NewRef(Py_None);
done:
  PY_IN_RELEASE(&place, &turn);
  return result;
}

PyDoc_STRVAR(step_doc, "step($self, n, progress, threads, /)\n--\n\nMake n steps.");
static PyObject *step(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *progress;
  long long n;
  int threads;
  py_run run;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "LOi:step", &n, &progress, &threads)) return NULL;
  if (n < 0) return py_fail(state, PY_INPUT_ERROR, "n must be at least 0, got %lld", n);
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  const rf_run quiet = {.threads = threads};
  rf_status st = RF_OK;
  Py_BEGIN_ALLOW_THREADS
  for (long long i = 0; i < n && st >= 0; ++i) {
    py_lock(self);
    st = rf_multibody_step(py_held(self), &quiet, &err);
    py_unlock(self);
    if (st >= 0) st = rf_run_progress(&run.run, i + 1, n, &err);
  }
  Py_END_ALLOW_THREADS
  return st < 0 ? py_raise(state, st, &err) : Py_NewRef(Py_None);
}

// Returns a tuple of new arrays (rows, columns[i]), in `data`; NULL with an exception set.
static PyObject *arrays(npy_intp rows, int count, const npy_intp *columns, double **data) {
  PyObject *out = PyTuple_New(count);
  for (int i = 0; i < count && out; ++i) {
    PyObject *array = py_new_f64(2, (npy_intp[]){rows, columns[i]});
    if (!array) {
      Py_CLEAR(out);
      break;
    }
    data[i] = py_f64(array);
    PyTuple_SET_ITEM(out, i, array);
  }
  return out;
}

static int32_t count_of(PyObject *self) {
  int32_t n;
  PY_UNDER_LOCK(self, n = rf_multibody_count(py_held(self)));
  return n;
}

PyDoc_STRVAR(motion_doc,
             "motion($self, /)\n--\n\n"
             "(positions, quaternions, velocities, angular_velocities) of all bodies: copies.");
static PyObject *motion(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_multibody *c = py_held(self);
  const int32_t n = count_of(self);
  double *to[4];
  PyObject *out = arrays(n, 4, (npy_intp[]){3, 4, 3, 3}, to);
  if (!out) return NULL;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  for (int32_t i = 0; i < n; ++i) {
    const rf_free_body *b = rf_multibody_body(c, i);
    memcpy(to[0] + 3 * i, b->rigid.position, sizeof b->rigid.position);
    memcpy(to[1] + 4 * i, b->rigid.quaternion, sizeof b->rigid.quaternion);
    for (int k = 0; k < 3; ++k) to[2][3 * i + k] = b->rigid.momentum[k] / b->set.mass;
    rf_free_body_angular_velocity_rt(b, to[3] + 3 * i);
  }
  py_unlock(self);
  Py_END_ALLOW_THREADS
  return out;
}

// Returns a body of the world; NULL with an exception set.  Another thread that adds one may move
// the list, but never a body.
static rf_free_body *body_in(PyObject *self, PyObject *args) {
  const rf_multibody *c = py_held(self);
  rf_free_body *body = NULL;
  int32_t n;
  int index;
  if (!PyArg_ParseTuple(args, "i", &index)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  n = rf_multibody_count(c);
  if (index >= 0 && index < n) body = rf_multibody_body(c, index);
  py_unlock(self);
  Py_END_ALLOW_THREADS
  if (body) return body;
  py_state *state = py_state_of_object(self);
  if (n == 0)
    py_fail(state, PY_INPUT_ERROR, "body is %d, but the world has no bodies; add them", index);
  else
    py_fail(state, PY_INPUT_ERROR, "body must be between 0 and %d, got %d", (int)n - 1, index);
  return NULL;
}

PyDoc_STRVAR(state_doc, "state($self, body, /)\n--\n\nState of a body, as of a FreeBody.");
static PyObject *read_state(PyObject *self, PyObject *args) {
  const rf_free_body *body = body_in(self, args);
  return body ? py_free_body_state(self, body) : NULL;
}

PyDoc_STRVAR(nodes_doc,
             "nodes($self, body, /)\n--\n\n"
             "Positions of the nodes of a body in the world (n, 3).");
static PyObject *nodes(PyObject *self, PyObject *args) {
  const rf_free_body *body = body_in(self, args);
  if (!body) return NULL;
  PyObject *out = py_new_f64(2, (npy_intp[]){body->model->n_nodes, 3});
  if (!out) return NULL;
  double *x = py_f64(out);
  PY_UNDER_LOCK(self, rf_free_body_nodes(body, x));
  return out;
}

PyDoc_STRVAR(
    dimple_doc,
    "dimple($self, body, /)\n--\n\n"
    "Displacements of the points of a body or a fixed shell by its local compliance (n, 3).");
static PyObject *dimple(PyObject *self, PyObject *args) {
  const rf_multibody *c = py_held(self);
  const rf_contact_local *local = NULL;
  int number;
  bool there;
  int32_t bodies, fixed;
  if (!PyArg_ParseTuple(args, "i:dimple", &number)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  bodies = rf_multibody_count(c);
  fixed = rf_multibody_fixed_count(c);
  there = (number >= 0 && number < bodies) || (number <= -2 && -2 - number < fixed);
  if (there) local = rf_multibody_local(c, number);
  py_unlock(self);
  Py_END_ALLOW_THREADS
  py_state *state = py_state_of_object(self);
  if (!there)
    return py_fail(state, PY_INPUT_ERROR,
                   "body is %d, but the world has %d bodies, from 0, and %d fixed bodies, from -2 "
                   "downwards",
                   number, (int)bodies, (int)fixed);
  if (!local)
    return py_fail(state, PY_INPUT_ERROR,
                   "body %d has no dimple: it was added without a local compliance", number);
  PyObject *out = py_new_f64(2, (npy_intp[]){local->n_points, 3});
  if (!out) return NULL;
  double *u = py_f64(out);
  PY_UNDER_LOCK(self, rf_multibody_dimple_displacements(c, number, u));
  return out;
}

PyDoc_STRVAR(energy_doc,
             "energy($self, /)\n--\n\n"
             "Kinetic and elastic energy of each body [J], shape (n,).");
static PyObject *energy(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_multibody *c = py_held(self);
  const int32_t n = count_of(self);
  PyObject *out = py_new_f64(1, (npy_intp[]){n});
  if (!out) return NULL;
  double *to = py_f64(out);
  rf_error err = {0};
  rf_status st = RF_OK;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  for (int32_t i = 0; i < n && st >= 0; ++i) {
    st = rf_free_body_energy(rf_multibody_body(c, i), to + i, &err);
    to[i] += rf_multibody_dimple_energy(c, i);
  }
  py_unlock(self);
  Py_END_ALLOW_THREADS
  return py_result(py_state_of_object(self), st, &err, out);
}

PyDoc_STRVAR(strains_doc,
             "strains($self, /)\n--\n\n"
             "Largest Green strain of the cubature of each body, some points a step, shape (n,).");
static PyObject *strains(PyObject *self, PyObject *unused) {
  (void)unused;
  const npy_intp n = count_of(self);
  PyObject *out = py_new_f64(1, &n);
  if (!out) return NULL;
  double *to = py_f64(out);
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  for (int32_t i = 0; i < n; ++i)
    to[i] = rf_multibody_body(py_held(self), i)->deformation->report.strain;
  py_unlock(self);
  Py_END_ALLOW_THREADS
  return out;
}

PyDoc_STRVAR(report_doc,
             "report($self, /)\n--\n\n"
             "(steps, candidates, pairs, points, passed, depth, iterations, residual, "
             "unconverged, fastest, fastest_body, overlap, overlap_m, overlap_body, "
             "overlap_other, sunk, sunk_shell, sunk_other, sunk_m, sunk_at, sunk_thickness, "
             "missed_body, missed_shell, beyond_shell, beyond_other, beyond_at).");
static PyObject *report(PyObject *self, PyObject *unused) {
  (void)unused;
  rf_multibody_report r;
  PY_UNDER_LOCK(self, r = *rf_multibody_reported(py_held(self)));
  return Py_BuildValue(
      "(LiiLLdidLdiddiiLiid(ddd)diiii(ddd))", (long long)r.steps, (int)r.candidates, (int)r.pairs,
      (long long)r.points, (long long)r.passed, r.depth_m, (int)r.iterations, r.residual,
      (long long)r.unconverged, r.fastest, (int)r.fastest_body, r.overlap, r.overlap_m,
      (int)r.overlap_body, (int)r.overlap_other, (long long)r.sunk, (int)r.sunk_shell,
      (int)r.sunk_other, r.sunk_m, r.sunk_at[0], r.sunk_at[1], r.sunk_at[2], r.sunk_thickness_m,
      (int)r.missed_body, (int)r.missed_shell, (int)r.beyond_shell, (int)r.beyond_other,
      r.beyond_at[0], r.beyond_at[1], r.beyond_at[2]);
}

PyDoc_STRVAR(contacts_doc,
             "contacts($self, /)\n--\n\n"
             "(bodies, points, depths, forces, torques) of the pairs in contact in the last step.");
static PyObject *contacts(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_multibody *c = py_held(self);
  PyObject *out = NULL;
  rf_multibody_pair *pairs = NULL;
  npy_intp n;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  n = rf_multibody_pairs(c);
  pairs = rf_alloc((size_t)n, sizeof *pairs);
  for (int32_t k = 0; pairs && k < n; ++k) pairs[k] = rf_multibody_pair_at(c, k);
  py_unlock(self);
  Py_END_ALLOW_THREADS
  if (!pairs) return PyErr_NoMemory();
  PyObject *bodies = py_new_i32(2, (npy_intp[]){n, 2}), *points = py_new_i32(1, &n);
  PyObject *depths = py_new_f64(1, &n), *forces = py_new_f64(2, (npy_intp[]){n, 3});
  PyObject *torques = py_new_f64(2, (npy_intp[]){n, 3});
  if (!bodies || !points || !depths || !forces || !torques) goto done;
  for (npy_intp k = 0; k < n; ++k) {
    py_i32(bodies)[2 * k] = pairs[k].tree;
    py_i32(bodies)[2 * k + 1] = pairs[k].field;
    py_i32(points)[k] = pairs[k].points;
    py_f64(depths)[k] = pairs[k].depth_m;
    memcpy(py_f64(forces) + 3 * k, pairs[k].wrench, 3 * sizeof(double));
    memcpy(py_f64(torques) + 3 * k, pairs[k].wrench + 3, 3 * sizeof(double));
  }
  out = PyTuple_Pack(5, bodies, points, depths, forces, torques);
done:
  PY_XDECREF(bodies, points, depths, forces, torques);
  rf_free(pairs);
  return out;
}

static PyMethodDef methods[] = {
    {"add_shape", add_shape, METH_VARARGS, add_shape_doc},
    {"add", add, METH_VARARGS, add_doc},
    {"add_fixed", add_fixed, METH_VARARGS, add_fixed_doc},
    {"step", step, METH_VARARGS, step_doc},
    {"motion", motion, METH_NOARGS, motion_doc},
    {"state", read_state, METH_VARARGS, state_doc},
    {"nodes", nodes, METH_VARARGS, nodes_doc},
    {"dimple", dimple, METH_VARARGS, dimple_doc},
    {"energy", energy, METH_NOARGS, energy_doc},
    {"strains", strains, METH_NOARGS, strains_doc},
    {"report", report, METH_NOARGS, report_doc},
    {"contacts", contacts, METH_NOARGS, contacts_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(world_doc,
             "World(settings, ground, /)\n--\n\n"
             "Many free bodies in contact. settings: a dict of dt, gravity, ground_friction,\n"
             "contact_damping, tol, iterations and least_work; ground: a Field or None.");

static PyType_Spec spec =
    PY_SPEC_KEEPING("World", py_object, {Py_tp_new, world_new}, {Py_tp_dealloc, py_object_dealloc},
                    {Py_tp_methods, methods}, {Py_tp_doc, (void *)world_doc});

PyDoc_STRVAR(broad_doc,
             "broad_pairs(centres, radii, /)\n--\n\n"
             "Pairs of spheres that overlap, ascending (k, 2).");
static PyObject *broad_pairs(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *centres_obj, *radii_obj, *out = NULL;
  py_in centres = {0}, radii = {0};
  rf_broad broad = {0};
  rf_broad_sphere *spheres = NULL;
  rf_error err = {0};
  rf_status st = RF_OK;
  if (!PyArg_ParseTuple(args, "OO:broad_pairs", &centres_obj, &radii_obj)) return NULL;
  if (py_in_points(&centres, centres_obj, "centres") < 0 ||
      py_in_f64(&radii, radii_obj, "radii", 1, &centres.shape[0]) < 0)
    goto release;
  const int32_t n = (int32_t)centres.shape[0];
  spheres = rf_alloc((size_t)n, sizeof *spheres);
  if (!spheres) st = rf_fail(&err, RF_ERR_MEMORY, "out of memory: %d spheres", (int)n);
  for (int32_t k = 0; st >= 0 && k < n; ++k) {
    memcpy(spheres[k].centre, (double *)centres.data + 3 * k, sizeof spheres[k].centre);
    spheres[k].radius = ((double *)radii.data)[k];
  }
  if (st >= 0) st = rf_broad_search(&broad, n, spheres, &err);
  if (st >= 0) out = py_new_i32(2, (npy_intp[]){broad.n_pairs, 2});
  for (int32_t k = 0; out && k < broad.n_pairs; ++k) {
    py_i32(out)[2 * k] = broad.pairs[k].first;
    py_i32(out)[2 * k + 1] = broad.pairs[k].second;
  }
  if (st < 0) py_raise(state, st, &err);
release:
  rf_broad_free(&broad);
  rf_free(spheres);
  PY_IN_RELEASE(&centres, &radii);
  return out;
}

static PyMethodDef functions[] = {
    {"broad_pairs", broad_pairs, METH_VARARGS, broad_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_world_room = {.types = {{PY_WORLD, &spec}}, .functions = functions};
