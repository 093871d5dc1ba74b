// A spring that pulls a point of a moving reduced body: functions of the module.
#include "dynamics/pull.h"
#include "pyext/py_convert.h"
#include "pyext/py_motion.h"
#include "pyext/py_object.h"
#include "pyext/py_reduced.h"

// Steps while the lock of the simulation is held, in which others wait.
enum { CHUNK = 64 };

PyDoc_STRVAR(
    pull_doc,
    "pull($module, motion, rest, rows, stiffness, place, force, n, /)\n--\n\n"
    "n steps of a _core.Motion while a spring pulls a point to a place (3,): rest (3,),\n"
    "rows of the basis there (3, r), force besides (r,) or None. Returns the force of the\n"
    "spring on the body (3,) and the point (3,).");
static PyObject *pull_steps(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *motion_obj, *rest_obj, *rows_obj, *place_obj, *force_obj, *result = NULL;
  py_in rest = {0}, rows = {0}, place = {0}, force = {0};
  double stiffness, felt[3] = {0.0}, point[3] = {0.0};
  long long n;
  rf_pull *pull = NULL;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OOOdOOL:pull", &motion_obj, &rest_obj, &rows_obj, &stiffness,
                        &place_obj, &force_obj, &n))
    return NULL;
  rf_motion *m = py_motion_coupled(state, motion_obj);
  if (!m) return NULL;
  if (n < 0) return py_fail(state, PY_INPUT_ERROR, "n must be at least 0, got %lld", n);
  if (py_in_f64(&rest, rest_obj, "rest", 1, (npy_intp[]){3}) < 0 ||
      py_in_f64(&rows, rows_obj, "rows", 2, (npy_intp[]){3, m->n}) < 0 ||
      py_in_f64(&place, place_obj, "place", 1, (npy_intp[]){3}) < 0 ||
      (force_obj != Py_None && py_in_f64(&force, force_obj, "force", 1, (npy_intp[]){m->n}) < 0))
    goto done;
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_pull_create(m->n, rest.data, rows.data, stiffness, &pull, &err);
  for (bool first = true; st >= 0 && (first || n > 0); first = false) {
    const int64_t count = n < CHUNK ? n : CHUNK;
    py_lock(motion_obj);
    st = rf_pull_step_rt(pull, m, place.data, force.data, count, felt);
    if (st == RF_ERR_DIVERGED) st = rf_motion_explain(m, "the simulation", "a softer pull", &err);
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
  py_in_release(&rest);
  py_in_release(&rows);
  py_in_release(&place);
  py_in_release(&force);
  return result;
}

PyDoc_STRVAR(stiffness_doc,
             "pull_body_stiffness($module, model, rows, /)\n--\n\n"
             "Stiffness of a body at a point, with the rows of the basis there (3, r) [N/m].");
static PyObject *body_stiffness(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *model_obj, *rows_obj;
  py_in rows = {0};
  double stiffness = 0.0;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OO:pull_body_stiffness", &model_obj, &rows_obj)) return NULL;
  const rf_reduced *model = py_reduced_get(state, model_obj);
  if (!model || py_in_f64(&rows, rows_obj, "rows", 2, (npy_intp[]){3, model->r}) < 0) return NULL;
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_pull_body_stiffness(model, rows.data, &stiffness, &err);
  Py_END_ALLOW_THREADS
  py_in_release(&rows);
  return st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(stiffness);
}

static PyMethodDef functions[] = {
    {"pull", pull_steps, METH_VARARGS, pull_doc},
    {"pull_body_stiffness", body_stiffness, METH_VARARGS, stiffness_doc},
    {NULL, NULL, 0, NULL}};

const py_room py_pull_room = {.functions = functions};
