// Springs that pull a point of a body, and linear statics under forces at a point.
#include <string.h>

#include "base/alloc.h"
#include "dynamics/free_pull.h"
#include "dynamics/pull.h"
#include "pyext/py_convert.h"
#include "pyext/py_free_body.h"
#include "pyext/py_motion.h"
#include "pyext/py_object.h"
#include "pyext/py_solid.h"
#include "pyext/py_source.h"
#include "world/multibody.h"

// Steps while the lock of the simulation is held, in which others wait.
enum { CHUNK = 64 };

// A point as an argument: rows of the basis (3, n), or a tuple of nodes (c,) and weights (c,).
typedef struct point_in {
  py_in rest, rows, nodes, weights;
  rf_pull_point point;
} point_in;

static void release_point(point_in *in) {
  PY_IN_RELEASE(&in->rest, &in->rows, &in->nodes, &in->weights);
}

static int take_rest(point_in *in, PyObject *rest) {
  if (py_in_f64(&in->rest, rest, "rest", 1, (npy_intp[]){3}) < 0) return -1;
  for (int a = 0; a < 3; ++a) in->point.rest_m[a] = ((const double *)in->rest.data)[a];
  return 0;
}

// n: values of a vector of the system.
static int take_where(point_in *in, PyObject *where, npy_intp n) {
  if (!PyTuple_Check(where)) {
    if (py_in_f64(&in->rows, where, "rows", 2, (npy_intp[]){3, n}) < 0) return -1;
    in->point.rows = in->rows.data;
    return 0;
  }
  PyObject *nodes, *weights;
  if (!PyArg_ParseTuple(where, "OO:where", &nodes, &weights) ||
      py_in_i32(&in->nodes, nodes, "nodes", 1, (npy_intp[]){PY_ANY}, 0, INT32_MAX) < 0 ||
      py_in_f64(&in->weights, weights, "weights", 1, in->nodes.shape) < 0)
    return -1;
  in->point.corners = (int32_t)in->nodes.shape[0];
  in->point.nodes = in->nodes.data;
  in->point.weights = in->weights.data;
  return 0;
}

// Returns the motion of a _core.Motion that takes a spring, or NULL with an exception set.
static rf_motion *pulled(py_state *state, PyObject *object) {
  if (py_require_type(state, object, PY_MOTION, "motion", "Motion") < 0) return NULL;
  rf_motion *m = py_held(object);
  const rf_system_operations *op = m->system->operations;
  if (rf_scheme_takes_contact(m->set.scheme) && !m->subspace && !m->barrier &&
      (op->dense || op->add_blocks))
    return m;
  py_fail(state, PY_INPUT_TYPE_ERROR,
          "motion must be that of an implicit integrator with one stage a step, such as "
          "ImplicitNewmark or BDF2, without contact and exact modes, of a body with nodes");
  return NULL;
}

PyDoc_STRVAR(pull_doc,
             "pull($module, motion, rest, where, stiffness, place, force, n, threads, /)\n--\n\n"
             "n steps of a _core.Motion while a spring pulls a point to a place (3,): rest (3,),\n"
             "where: rows of the basis there (3, r), or a tuple of nodes of one element (c,) and\n"
             "weights (c,); force besides, flat, or None. Returns the force of the spring on the\n"
             "body (3,) and the point (3,).");
static PyObject *pull_steps(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *motion_obj, *rest_obj, *where_obj, *place_obj, *force_obj, *result = NULL;
  py_in place = {0}, force = {0};
  point_in at = {0};
  double stiffness, felt[3] = {0.0}, point[3] = {0.0};
  long long n;
  int threads;
  py_run run;
  rf_pull *pull = NULL;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OOOdOOLi:pull", &motion_obj, &rest_obj, &where_obj, &stiffness,
                        &place_obj, &force_obj, &n, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  rf_motion *m = pulled(state, motion_obj);
  if (!m) return NULL;
  if (n < 0) return py_fail(state, PY_INPUT_ERROR, "n must be at least 0, got %lld", n);
  if (take_rest(&at, rest_obj) < 0 || take_where(&at, where_obj, m->n) < 0 ||
      py_in_f64(&place, place_obj, "place", 1, (npy_intp[]){3}) < 0 ||
      (force_obj != Py_None && py_in_f64(&force, force_obj, "force", 1, (npy_intp[]){m->n}) < 0))
    goto done;
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  const rf_run quiet = {.threads = threads};
  // steps of a solid are long
  const int64_t chunk = m->system->step_numbers > 0.0 ? CHUNK : 1;
  st = rf_pull_create(m->system, &at.point, stiffness, &pull, &err);
  for (bool first = true; st >= 0 && (first || n > 0); first = false) {
    const int64_t count = n < chunk ? n : chunk;
    py_lock(motion_obj);
    st = rf_pull_step(pull, m, &quiet, place.data, force.data, count, felt, &err);
    rf_pull_point_rt(pull, m, point);
    py_unlock(motion_obj);
    n -= count;
  }
  rf_pull_free(pull);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err)
                  : Py_BuildValue("((ddd)(ddd))", felt[0], felt[1], felt[2], point[0], point[1],
                                  point[2]);
done:
  release_point(&at);
  PY_IN_RELEASE(&place, &force);
  return result;
}

PyDoc_STRVAR(stiffness_doc,
             "pull_body_stiffness($module, system, where, threads, /)\n--\n\n"
             "Stiffness of a body at a point of `pull` [N/m]: the model of a system.");
static PyObject *body_stiffness(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *system_obj, *where_obj, *result = NULL;
  point_in at = {0};
  py_source from = {0};
  double stiffness = 0.0;
  int threads;
  py_run run;
  rf_error err = {0};
  rf_system *system = NULL;
  rf_pull *pull = NULL;
  if (!PyArg_ParseTuple(args, "OOi:pull_body_stiffness", &system_obj, &where_obj, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  const py_system_kind *kind = py_source_in(state, system_obj, Py_None, &from);
  if (!kind || take_where(&at, where_obj, from.n * (from.ndim == 2 ? 3 : 1)) < 0) goto done;
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  const rf_run quiet = {.threads = threads};
  st = kind->create(from.model, &quiet, &from.damping, RF_STEPS_IMPLICIT, &system, &err);
  if (st >= 0) st = rf_pull_create(system, &at.point, 0.0, &pull, &err);
  if (st >= 0) st = rf_pull_body_stiffness(pull, system, &quiet, &stiffness, &err);
  rf_pull_free(pull);
  rf_system_free(system);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(stiffness);
done:
  release_point(&at);
  py_source_release(&from);
  return result;
}

// One step of a free body, or of the world that has it.
static rf_status step_free(rf_free_body *body, rf_multibody *world, const rf_run *run,
                           rf_error *err) {
  static const int32_t NONE = 0;
  static const rf_load *const NO_LOADS = NULL;
  return world ? rf_multibody_step(world, run, err)
               : rf_free_bodies_step(run, 1, &body, &NONE, &NO_LOADS, 1, err);
}

PyDoc_STRVAR(free_doc,
             "pull_free($module, body, index, rest, rows, spring, place, n, threads, /)\n--\n\n"
             "n steps of a _core.FreeBody (index -1), or of a _core.World with its body of an\n"
             "index, while a spring (stiffness [N/m], damping [N s/m]) pulls a point to a place\n"
             "(3,): rest (3,), rows of the basis there (3, r). Returns the force of the spring in\n"
             "the last step (3,) and the point (3,).");
static PyObject *pull_free(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *object, *rest_obj, *rows_obj, *place_obj, *result = NULL;
  point_in at = {0};
  py_in place = {0};
  rf_free_body_pull pull = {0};
  double felt[3] = {0.0}, point[3] = {0.0};
  long long n;
  int index, threads;
  py_run run;
  rf_error err = {0};
  rf_multibody *world = NULL;
  rf_free_body *body;
  if (!PyArg_ParseTuple(args, "OiOO(dd)OLi:pull_free", &object, &index, &rest_obj, &rows_obj,
                        &pull.stiffness, &pull.damping, &place_obj, &n, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  if (n < 0) return py_fail(state, PY_INPUT_ERROR, "n must be at least 0, got %lld", n);
  if (Py_TYPE(object) == state->types[PY_WORLD]) {
    world = py_held(object);
    if (index < 0 || index >= rf_multibody_count(world))
      return py_fail(state, PY_INPUT_ERROR, "index must be between 0 and %d, got %d",
                     (int)rf_multibody_count(world) - 1, index);
    body = rf_multibody_body(world, index);
  } else if (!(body = py_free_body_get(state, object))) {
    return NULL;
  }
  const int32_t r = body->model->r;
  if (take_rest(&at, rest_obj) < 0 ||
      py_in_f64(&at.rows, rows_obj, "rows", 2, (npy_intp[]){3, r}) < 0 ||
      py_in_f64(&place, place_obj, "place", 1, (npy_intp[]){3}) < 0)
    goto done;
  for (int a = 0; a < 3; ++a) pull.rest_m[a] = at.point.rest_m[a];
  pull.rows = at.rows.data;
  if (!(pull.qdot = rf_alloc((size_t)r + 1, sizeof *pull.qdot))) {
    PyErr_NoMemory();
    goto done;
  }
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  const rf_run quiet = {.threads = threads};
  st = rf_free_body_pull_check(&pull, r, &err);
  if (st >= 0 && n == 0) {
    py_lock(object);
    rf_free_body_pull_point_rt(&pull, body, point);
    py_unlock(object);
  }
  for (long long i = 0; i < n && st >= 0; ++i) {
    py_lock(object);
    // a world may have been given more bodies since
    if (world) body = rf_multibody_body(world, index);
    st = rf_free_body_pull_rt(&pull, body, place.data, felt);
    if (st < 0) {
      st = rf_fail(&err, st, "the force of the pull is not finite: take a softer pull");
    } else {
      st = step_free(body, world, &quiet, &err);
      if (st < 0) rf_free_body_pull_undo_rt(&pull, body);
    }
    rf_free_body_pull_point_rt(&pull, body, point);
    py_unlock(object);
  }
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err)
                  : Py_BuildValue("((ddd)(ddd))", felt[0], felt[1], felt[2], point[0], point[1],
                                  point[2]);
done:
  rf_free(pull.qdot);
  release_point(&at);
  py_in_release(&place);
  return result;
}

// The static response of a solid at rest: a system with the factor of its stiffness.
static void release_system(void *system) { rf_system_free(system); }

PyDoc_STRVAR(response_doc,
             "StaticResponse(solid, progress, threads, /)\n--\n\n"
             "Factor of the stiffness of a solid with fixed nodes at rest, for linear statics.");
static PyObject *response_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *solid_obj, *progress;
  int threads;
  py_run run;
  rf_error err = {0};
  rf_system *system = NULL;
  if (py_refuse_keywords(type, kwargs) < 0 ||
      !PyArg_ParseTuple(args, "OOi:StaticResponse", &solid_obj, &progress, &threads))
    return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &run, progress, threads) < 0) return NULL;
  py_source from = {0};
  const py_system_kind *kind = py_source_in(state, solid_obj, Py_None, &from);
  if (!kind) return NULL;
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_solid_require_held(solid, &err);
  if (st >= 0)
    st = kind->create(from.model, &run.run, &from.damping, RF_STEPS_IMPLICIT, &system, &err);
  if (st >= 0) st = rf_pull_factorize_rest(system, &run.run, &err);
  if (st < 0) rf_system_free(system);
  Py_END_ALLOW_THREADS
  py_source_release(&from);
  return st < 0 ? py_raise(state, st, &err)
                : py_object_new_locked(type, system, release_system, solid_obj);
}

// moved (3, ld) becomes (3, n)
static rf_status unit_forces_in_c(PyObject *self, const rf_pull_point *point, const rf_run *run,
                                  double *out, rf_error *err) {
  rf_status st = RF_OK;
  rf_system *system = py_held(self);
  rf_pull *pull = NULL;
  double *moved = NULL;
  RF_ALLOC(moved, 3 * system->ld);
  RF_TRY(rf_pull_create(system, point, 0.0, &pull, err));
  py_lock(self);
  st = rf_pull_unit_forces(pull, system, run, moved, err);
  py_unlock(self);
  for (int64_t a = 0; a < 3; ++a)
    memcpy(out + a * system->n, moved + a * system->ld, (size_t)system->n * sizeof *out);
done:
  rf_pull_free(pull);
  rf_free(moved);
  return st;
}

PyDoc_STRVAR(
    unit_forces_doc,
    "unit_forces($self, where, threads, /)\n--\n\n"
    "Displacements (3, n, 3) by unit forces at a point along the axes [m/N]; where: nodes\n"
    "of one element (c,) and weights (c,).");
static PyObject *unit_forces(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  const rf_system *system = py_held(self);
  PyObject *where_obj, *out = NULL;
  point_in at = {0};
  int threads;
  py_run run;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "O!i:unit_forces", &PyTuple_Type, &where_obj, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  rf_status st = RF_OK;
  if (take_where(&at, where_obj, system->n) == 0)
    out = py_new_f64(3, (npy_intp[]){3, system->n / 3, 3});
  if (out) {
    double *to = py_f64(out);
    Py_BEGIN_ALLOW_THREADS
    const rf_run quiet = {.threads = threads};
    st = unit_forces_in_c(self, &at.point, &quiet, to, &err);
    Py_END_ALLOW_THREADS
  }
  release_point(&at);
  return py_result(state, st, &err, out);
}

PyDoc_STRVAR(
    drag_doc,
    "drag($module, moved, where, way, /)\n--\n\n"
    "Linear statics of a drag (3,) of a point: the force along it that moves the point as\n"
    "far along it (3,) and the displacements (n, 3); moved (3, n, 3) and where as of\n"
    "StaticResponse.unit_forces.");
static PyObject *drag(PyObject *module, PyObject *args) {
  PyObject *moved_obj, *nodes_obj, *weights_obj, *way_obj, *force = NULL, *u = NULL;
  PyObject *result = NULL;
  py_in moved = {0}, nodes = {0}, weights = {0}, way = {0};
  (void)module;
  if (!PyArg_ParseTuple(args, "O(OO)O:drag", &moved_obj, &nodes_obj, &weights_obj, &way_obj))
    return NULL;
  if (py_in_f64(&moved, moved_obj, "moved", 3, (npy_intp[]){3, PY_ANY, 3}) < 0 ||
      py_in_i32(&nodes, nodes_obj, "nodes", 1, (npy_intp[]){PY_ANY}, 0,
                (int32_t)moved.shape[1] - 1) < 0 ||
      py_in_f64(&weights, weights_obj, "weights", 1, nodes.shape) < 0 ||
      py_in_f64(&way, way_obj, "way", 1, (npy_intp[]){3}) < 0)
    goto done;
  force = py_new_f64(1, (npy_intp[]){3});
  u = py_new_f64(2, (npy_intp[]){moved.shape[1], 3});
  if (!force || !u) goto done;
  const rf_system_points at = {1, (int32_t)nodes.shape[0], nodes.data, weights.data};
  rf_pull_drag(3 * (int32_t)moved.shape[1], &at, moved.data, way.data, py_f64(force), py_f64(u));
  result = PyTuple_Pack(2, force, u);
done:
  PY_IN_RELEASE(&moved, &nodes, &weights, &way);
  PY_XDECREF(force, u);
  return result;
}

static PyMethodDef response_methods[] = {
    {"unit_forces", unit_forces, METH_VARARGS, unit_forces_doc}, {NULL, NULL, 0, NULL}};

static PyType_Spec response_spec = PY_SPEC_KEEPING(
    "StaticResponse", py_object, {Py_tp_doc, (char *)response_doc}, {Py_tp_new, response_new},
    {Py_tp_dealloc, py_object_dealloc}, {Py_tp_methods, response_methods});

static PyMethodDef functions[] = {
    {"drag", drag, METH_VARARGS, drag_doc},
    {"pull", pull_steps, METH_VARARGS, pull_doc},
    {"pull_body_stiffness", body_stiffness, METH_VARARGS, stiffness_doc},
    {"pull_free", pull_free, METH_VARARGS, free_doc},
    {NULL, NULL, 0, NULL}};

const py_room py_pull_room = {.types = {{PY_STATIC_RESPONSE, &response_spec}},
                              .functions = functions};
