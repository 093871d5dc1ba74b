// Composite bodies: solids cut into blocks that turn.
#include <string.h>

#include "green/composite.h"
#include "pyext/py_convert.h"
#include "pyext/py_object.h"
#include "pyext/py_solid.h"

static void release(void *held) { rf_composite_free(held); }

static PyObject *composite_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *solid_obj, *block_obj, *holdable_obj, *progress, *result = NULL;
  py_in block = {0}, holdable = {0};
  rf_composite_settings set = {0};
  rf_composite *body = NULL;
  int n_blocks, threads;
  py_run r;
  rf_error err = {0};
  rf_status st;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOiOOi:CompositeBody", &solid_obj, &block_obj, &n_blocks,
                        &holdable_obj, &progress, &threads))
    return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &r, progress, threads) < 0) return NULL;
  if (py_in_i32(&block, block_obj, "blocks", 1, (npy_intp[]){solid->mesh->n_elements}, INT32_MIN,
                INT32_MAX) < 0 ||
      py_in_i32(&holdable, holdable_obj, "holdable", 1, (npy_intp[]){PY_ANY}, 0, INT32_MAX) < 0)
    goto done;
  set.n_blocks = n_blocks;
  set.block = block.data;
  set.holdable = holdable.data;
  set.n_holdable = (int32_t)holdable.shape[0];
  PY_WITHOUT_GIL(st = rf_composite_create(solid, &set, &r.run, &body, &err));
  result = st < 0 ? py_raise(state, st, &err) : py_object_new(type, body, release, NULL);
done:
  PY_IN_RELEASE(&block, &holdable);
  return result;
}

// Converts a field over all nodes, or None.
static int field_in(py_in *in, PyObject *object, const char *name, const rf_composite *body) {
  return object == Py_None ? 0 : py_in_field(in, object, name, body->n_nodes);
}

PyDoc_STRVAR(solve_doc,
             "solve($self, force, held, target, start, soft, tol, newton_max, threads, /)\n--\n\n"
             "Equilibrium under loads (n, 3) or None, with the directions held (o, 3) of the\n"
             "outer nodes at displacements target (o, 3), from start (n, 3) or None; soft: mask\n"
             "(o,) of outer nodes, or None. Tuple of\n"
             "u (n, 3), rotations (b, 3, 3), forces on outer nodes (o, 3), strain energy [J],\n"
             "iterations, whether it is stable, the relative residual, the largest angle between\n"
             "blocks that share nodes [rad], and the largest strain of a block, with all outer\n"
             "nodes and without soft ones.");
static PyObject *solve(PyObject *self, PyObject *args) {
  const rf_composite *body = py_held(self);
  py_state *state = py_state_of_object(self);
  PyObject *object[5], *result = NULL, *u = NULL, *turn = NULL, *reaction = NULL;
  py_in force = {0}, held = {0}, target = {0}, start = {0}, soft = {0};
  rf_composite_problem problem = {0};
  rf_composite_report report;
  int threads;
  py_run r;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "OOOOOdii:solve", &object[0], &object[1], &object[2], &object[3],
                        &object[4], &problem.tolerance, &problem.newton_max, &threads) ||
      py_run_init(state, &r, NULL, threads) < 0)
    return NULL;
  const npy_intp shape[2] = {body->n_outer, 3};
  if (field_in(&force, object[0], "force", body) < 0 ||
      py_in_u8(&held, object[1], "held", 2, shape) < 0 ||
      py_in_f64(&target, object[2], "held", 2, shape) < 0 ||
      field_in(&start, object[3], "u0", body) < 0 ||
      (object[4] != Py_None && py_in_u8(&soft, object[4], "soft", 1, shape) < 0))
    goto done;
  u = py_new_f64(2, (npy_intp[]){body->n_nodes, 3});
  turn = py_new_f64(3, (npy_intp[]){body->n_blocks, 3, 3});
  reaction = py_new_f64(2, shape);
  if (!u || !turn || !reaction) goto done;
  problem.force = force.data;
  problem.held = held.data;
  problem.target = target.data;
  problem.start = start.data;
  problem.soft = soft.data;
  double *to[3] = {py_f64(u), py_f64(turn), py_f64(reaction)};
  PY_WITHOUT_GIL(
      st = rf_composite_solve(body, &r.run, &problem, to[0], to[1], to[2], &report, &err));
  result = st < 0 ? py_raise(state, st, &err)
                  : Py_BuildValue("OOOdiNdddd", u, turn, reaction, report.energy, report.iterations,
                                  PyBool_FromLong(report.stable), report.residual, report.angle,
                                  report.strain, report.firm);
done:
  PY_IN_RELEASE(&force, &held, &target, &start, &soft);
  PY_XDECREF(u, turn, reaction);
  return result;
}

PyDoc_STRVAR(evaluate_doc,
             "evaluate($self, force, v, definite, /)\n--\n\n"
             "Potential [J], gradient (o, 3) and tangent (3o, 3o) at displacements v (o, 3) of\n"
             "the outer nodes; definite: without the indefinite terms of the tangent.");
static PyObject *evaluate(PyObject *self, PyObject *args) {
  const rf_composite *body = py_held(self);
  py_state *state = py_state_of_object(self);
  PyObject *force_obj, *v_obj, *result = NULL, *gradient = NULL, *tangent = NULL;
  py_in force = {0}, v = {0};
  double potential;
  int definite;
  py_run r;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "OOp:evaluate", &force_obj, &v_obj, &definite) ||
      py_run_init(state, &r, NULL, 1) < 0)
    return NULL;
  if (field_in(&force, force_obj, "force", body) < 0 ||
      py_in_f64(&v, v_obj, "v", 2, (npy_intp[]){body->n_outer, 3}) < 0)
    goto done;
  gradient = py_new_f64(2, (npy_intp[]){body->n_outer, 3});
  tangent = py_new_f64(2, (npy_intp[]){3 * (npy_intp)body->n_outer, 3 * (npy_intp)body->n_outer});
  if (!gradient || !tangent) goto done;
  double *to[2] = {py_f64(gradient), py_f64(tangent)};
  PY_WITHOUT_GIL(st = rf_composite_evaluate(body, &r.run, force.data, v.data, definite, &potential,
                                            to[0], to[1], &err));
  result = st < 0 ? py_raise(state, st, &err) : Py_BuildValue("dOO", potential, gradient, tangent);
done:
  PY_IN_RELEASE(&force, &v);
  PY_XDECREF(gradient, tangent);
  return result;
}

PY_GETTER(get_outer, self, rf_composite, body,
          py_view_i32(self, body->outer, 1, (npy_intp[]){body->n_outer}))
PY_GETTER(get_n_blocks, self, rf_composite, b, PyLong_FromLong(b->n_blocks))
PY_GETTER(get_bytes, self, rf_composite, b, PyLong_FromLongLong(rf_composite_bytes(b)))

static PyMethodDef methods[] = {
    {"evaluate", evaluate, METH_VARARGS, evaluate_doc},
    {"solve", solve, METH_VARARGS, solve_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"outer", get_outer, NULL, "Nodes that are not eliminated (o,).", NULL},
    {"n_blocks", get_n_blocks, NULL, "Number of blocks.", NULL},
    {"bytes", get_bytes, NULL, "Memory of the stiffness of the blocks.", NULL},
    {0},
};

PyDoc_STRVAR(composite_doc,
             "CompositeBody(solid, blocks, n_blocks, holdable, progress, threads, /)\n--\n\n"
             "A solid cut into blocks, by element; holdable: nodes that may be held.");

static PyType_Spec composite_spec = PY_SPEC(
    "CompositeBody", py_object, {Py_tp_new, composite_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, methods}, {Py_tp_getset, getset}, {Py_tp_doc, (void *)composite_doc});

const py_room py_composite_room = {.types = {{PY_COMPOSITE, &composite_spec}}};
