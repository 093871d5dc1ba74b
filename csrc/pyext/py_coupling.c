// Virtual coupling from Python: functions of settings, poses and contact; no state of their own.
#include <stddef.h>
#include <stdio.h>

#include "linalg/solve6_rt.h"
#include "pyext/py_convert.h"
#include "pyext/py_coupling.h"
#include "pyext/py_settings.h"
#include "render/dynamic_coupling.h"
#include "render/virtual_coupling.h"

#define NUMBER(struct, name, field) RF_SETTING(struct, name, field, DOUBLE, 0)
static const rf_setting COUPLING[] = {
    NUMBER(rf_coupling_settings, "stiffness", stiffness_n_per_m),
    NUMBER(rf_coupling_settings, "torsional_stiffness", torsion_nm),
    NUMBER(rf_coupling_settings, "max_force", max_force_n),
    NUMBER(rf_coupling_settings, "max_torque", max_torque_nm),
    NUMBER(rf_coupling_settings, "max_depth", max_depth_m),
    NUMBER(rf_coupling_settings, "reach", reach_m),
    NUMBER(rf_coupling_settings, "damping", damping),
    NUMBER(rf_coupling_settings, "max_step", max_step_m),
    NUMBER(rf_coupling_settings, "max_turn", max_turn_rad),
    NUMBER(rf_coupling_settings, "degenerate", degenerate),
    {0},
};
static const rf_setting DYNAMICS[] = {
    NUMBER(rf_dynamic_settings, "mass", mass_kg),
    NUMBER(rf_dynamic_settings, "inertia", inertia_kg_m2),
    NUMBER(rf_dynamic_settings, "viscosity", damping_n_s_per_m),
    NUMBER(rf_dynamic_settings, "torsional_viscosity", torsion_damping_nm_s),
    NUMBER(rf_dynamic_settings, "dt", dt_s),
    RF_SETTING(rf_dynamic_settings, "substeps", substeps, INT32, 0),
    {0},
};

int py_coupling_in(py_state *state, PyObject *settings, rf_coupling_settings *out) {
  return py_settings_in(state, settings, "coupling", COUPLING, out);
}
int py_dynamics_in(py_state *state, PyObject *settings, PyObject *dynamics,
                   rf_dynamic_settings *out) {
  if (py_coupling_in(state, settings, &out->spring) < 0) return -1;
  return py_settings_in(state, dynamics, "dynamics", DYNAMICS, out);
}

// Converts an argument of n numbers.
static int numbers_in(PyObject *object, const char *name, npy_intp n, double *out) {
  py_in in;
  if (py_in_f64(&in, object, name, 1, &n) < 0) return -1;
  for (npy_intp i = 0; i < n; ++i) out[i] = ((double *)in.data)[i];
  py_in_release(&in);
  return 0;
}

static PyObject *numbers_out(int ndim, const npy_intp *shape, const double *data) {
  PyObject *out = py_new_f64(ndim, shape);
  for (npy_intp i = 0; out && i < PyArray_SIZE((PyArrayObject *)out); ++i) py_f64(out)[i] = data[i];
  return out;
}

// Converts a pose; errors name "position of <what>" or "quaternion of <what>".
static int pose_in(py_state *state, PyObject *position, PyObject *quaternion, const char *what,
                   rf_pose *out) {
  rf_error err = {0};
  char of[2][40];
  (void)snprintf(of[0], sizeof of[0], "position of %s", what);
  (void)snprintf(of[1], sizeof of[1], "quaternion of %s", what);
  if (numbers_in(position, of[0], 3, out->position_m) < 0 ||
      numbers_in(quaternion, of[1], 4, out->quaternion) < 0)
    return -1;
  if (rf_pose_check(out, &err) < 0) {
    py_fail(state, PY_INPUT_ERROR, "%s: %s", what, err.text);
    return -1;
  }
  const double norm = rf_pose_norm_rt(out);
  for (int i = 0; i < 4; ++i) out->quaternion[i] /= norm;
  return 0;
}

static int load_in(PyObject *load, rf_coupling_load *out) {
  PyObject *force, *torque, *gradient;
  py_in matrix;
  if (!PyArg_ParseTuple(load, "OOOd:load", &force, &torque, &gradient, &out->depth_m)) return -1;
  out->clearance_m = 0.0;
  if (numbers_in(force, "force", 3, out->force_n) < 0 ||
      numbers_in(torque, "torque", 3, out->torque_nm) < 0 ||
      py_in_f64(&matrix, gradient, "gradient", 2, (npy_intp[]){6, 6}) < 0)
    return -1;
  for (int i = 0; i < 36; ++i) out->gradient[i] = ((double *)matrix.data)[i];
  py_in_release(&matrix);
  return 0;
}

static PyObject *wrench_out(const rf_coupling_wrench *w) {
  const npy_intp three = 3, six[2] = {6, 6};
  return Py_BuildValue(
      "(NNNNN)", numbers_out(1, &three, w->force_n), numbers_out(1, &three, w->torque_nm),
      numbers_out(1, &three, w->linear_force_n), numbers_out(1, &three, w->linear_torque_nm),
      numbers_out(2, six, w->gradient));
}

static PyObject *pose_out(const rf_pose *pose) {
  const npy_intp three = 3, four = 4;
  return Py_BuildValue("(NN)", numbers_out(1, &three, pose->position_m),
                       numbers_out(1, &four, pose->quaternion));
}

static PyObject *report_out(const rf_coupling_state *state, const rf_coupling_report *report) {
  const npy_intp six = 6;
  return Py_BuildValue("(NdNNiO)", pose_out(&state->object), state->share,
                       wrench_out(&report->wrench), numbers_out(1, &six, report->move),
                       (int)report->rank, report->limited ? Py_True : Py_False);
}

PyDoc_STRVAR(check_doc,
             "coupling_check(settings, /)\n--\n\n"
             "Raise InputError unless the settings are valid for a static coupling.");
static PyObject *coupling_check(PyObject *module, PyObject *args) {
  rf_coupling_settings set;
  rf_error err = {0};
  PyObject *settings;
  py_state *state = py_state_of_module(module);
  if (!PyArg_ParseTuple(args, "O:coupling_check", &settings) ||
      py_coupling_in(state, settings, &set) < 0)
    return NULL;
  const rf_status st = rf_coupling_check(&set, &err);
  return py_result(state, st, &err, Py_NewRef(Py_None));
}

PyDoc_STRVAR(wrench_doc,
             "coupling_wrench(settings, manipulandum, object, /)\n--\n\n"
             "(force, torque, linear_force, linear_torque, gradient) at two poses, each\n"
             "(position, quaternion) of the grasp frame.");
static PyObject *coupling_wrench(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  rf_coupling_settings set;
  PyObject *settings, *at[4];
  rf_pose manipulandum, object;
  rf_coupling_wrench wrench;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "O(OO)(OO):coupling_wrench", &settings, &at[0], &at[1], &at[2],
                        &at[3]) ||
      py_coupling_in(state, settings, &set) < 0)
    return NULL;
  const rf_status st = rf_coupling_check(&set, &err);
  if (st < 0) return py_raise(state, st, &err);
  if (pose_in(state, at[0], at[1], "manipulandum", &manipulandum) < 0 ||
      pose_in(state, at[2], at[3], "object", &object) < 0)
    return NULL;
  rf_coupling_wrench_rt(&set, &manipulandum, &object, &wrench);
  return wrench_out(&wrench);
}

PyDoc_STRVAR(step_doc,
             "coupling_step(settings, manipulandum, object, share, load, /)\n--\n\n"
             "One cycle of static coupling under load = (force, torque, gradient, depth):\n"
             "(object, share, wrench, move, rank, limited).");
static PyObject *coupling_step(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  rf_coupling_settings set;
  PyObject *settings, *at[4], *load_obj;
  rf_pose manipulandum;
  rf_coupling_state coupling;
  rf_coupling_load load = {.condensed = false};
  rf_coupling_report report;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "O(OO)(OO)dO!:coupling_step", &settings, &at[0], &at[1], &at[2],
                        &at[3], &coupling.share, &PyTuple_Type, &load_obj) ||
      py_coupling_in(state, settings, &set) < 0)
    return NULL;
  rf_status st = rf_coupling_check(&set, &err);
  if (st < 0) return py_raise(state, st, &err);
  if (pose_in(state, at[0], at[1], "manipulandum", &manipulandum) < 0 ||
      pose_in(state, at[2], at[3], "object", &coupling.object) < 0 || load_in(load_obj, &load) < 0)
    return NULL;
  st = rf_coupling_step_rt(&set, &manipulandum, &load, &coupling, &report);
  if (st < 0)
    return py_fail(state, PY_DIVERGED_ERROR,
                   "the coupling has no finite step: forces or gradients are too large");
  return report_out(&coupling, &report);
}

PyDoc_STRVAR(dynamic_doc,
             "dynamic_step(settings, dynamics, manipulandum, manipulandum_velocity, object, "
             "velocity, share, load, /)\n--\n\n"
             "One cycle of dynamic coupling: results of coupling_step, then the velocity (6,).");
static PyObject *dynamic_step(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  rf_dynamic_settings set;
  PyObject *settings, *dynamics, *at[4], *load_obj, *manipulandum_velocity, *velocity;
  rf_pose manipulandum;
  rf_dynamic_state dynamic;
  rf_coupling_load load = {.condensed = false};
  rf_coupling_report report;
  double moving[6];
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OO(OO)O(OO)OdO!:dynamic_step", &settings, &dynamics, &at[0], &at[1],
                        &manipulandum_velocity, &at[2], &at[3], &velocity, &dynamic.coupling.share,
                        &PyTuple_Type, &load_obj) ||
      py_dynamics_in(state, settings, dynamics, &set) < 0)
    return NULL;
  rf_status st = rf_dynamic_check(&set, &err);
  if (st < 0) return py_raise(state, st, &err);
  if (pose_in(state, at[0], at[1], "manipulandum", &manipulandum) < 0 ||
      pose_in(state, at[2], at[3], "object", &dynamic.coupling.object) < 0 ||
      numbers_in(manipulandum_velocity, "manipulandum_velocity", 6, moving) < 0 ||
      numbers_in(velocity, "velocity", 6, dynamic.velocity) < 0 || load_in(load_obj, &load) < 0)
    return NULL;
  st = rf_dynamic_step_rt(&set, &manipulandum, moving, &load, &dynamic, &report);
  if (st < 0)
    return py_fail(state, PY_DIVERGED_ERROR,
                   "the coupling has no finite step: forces or gradients are too large");
  const npy_intp six = 6;
  return Py_BuildValue("(NN)", report_out(&dynamic.coupling, &report),
                       numbers_out(1, &six, dynamic.velocity));
}

PyDoc_STRVAR(
    solve_doc,
    "solve6(matrix, right, degenerate, sure, otherwise, /)\n--\n\n"
    "Solve the 6 x 6 system of a cycle: (solution, rank). In the directions of singular\n"
    "values below degenerate times the largest, the solution is that of `otherwise`, unless\n"
    "-x . A x >= sure |x|^2 is known for all x.");
static PyObject *solve6(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *matrix_obj, *right_obj, *otherwise_obj;
  double degenerate, sure, right[6], otherwise[6], x[6];
  py_in matrix;
  if (!PyArg_ParseTuple(args, "OOddO:solve6", &matrix_obj, &right_obj, &degenerate, &sure,
                        &otherwise_obj) ||
      numbers_in(right_obj, "right", 6, right) < 0 ||
      numbers_in(otherwise_obj, "otherwise", 6, otherwise) < 0 ||
      py_in_f64(&matrix, matrix_obj, "matrix", 2, (npy_intp[]){6, 6}) < 0)
    return NULL;
  const int32_t rank =
      rf_solve6_rt((const double *)matrix.data, right, degenerate, sure, otherwise, x);
  py_in_release(&matrix);
  const npy_intp six = 6;
  return Py_BuildValue("(Ni)", numbers_out(1, &six, x), (int)rank);
}

static PyMethodDef functions[] = {
    {"coupling_check", coupling_check, METH_VARARGS, check_doc},
    {"coupling_wrench", coupling_wrench, METH_VARARGS, wrench_doc},
    {"coupling_step", coupling_step, METH_VARARGS, step_doc},
    {"dynamic_step", dynamic_step, METH_VARARGS, dynamic_doc},
    {"solve6", solve6, METH_VARARGS, solve_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_coupling_room = {.functions = functions};
