// Contact with friction of given compliance: the Delassus operator, and the forces.
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock_rt.h"
#include "constraint/delassus.h"
#include "constraint/friction.h"
#include "constraint/friction_poll.h"
#include "constraint/pyramid.h"
#include "pyext/py_convert.h"

// Largest difference of entries that are equal by symmetry, over the largest entry.
static const double ROUNDING = 1e-9;

// Refuses a matrix that is not symmetric up to rounding, of its largest entry, or has a negative
// diagonal entry; of contacts also where a normal one is zero (tangents may be: in a plane model).
static int require_compliance(py_state *state, const py_in *in, const char *name, bool contacts) {
  const double *w = in->data;
  const npy_intp n = in->shape[0];
  double most = 0.0;
  for (npy_intp k = 0; k < n * n; ++k) most = fmax(most, fabs(w[k]));
  for (npy_intp i = 0; i < n; ++i) {
    const double own = w[i * (n + 1)];
    const bool none = contacts && i % 3 == 0 && own == 0.0;
    if (own < 0.0 || none) {
      char text[128];
      snprintf(text, sizeof text,
               none ? "> 0, got %g: no force opens this contact" : ">= 0, got %g", own);
      py_fail(state, PY_INPUT_ERROR, "%s[%zd, %zd] must be %s", name, i, i, text);
      return -1;
    }
    for (npy_intp j = 0; j < i; ++j)
      if (fabs(w[i * n + j] - w[j * n + i]) > ROUNDING * most) {
        char text[320];
        snprintf(text, sizeof text,
                 "[%ld, %ld] is %g, [%ld, %ld] is %g, which differ by more than %g of the largest "
                 "entry, %g; if that is rounding, pass (%c + %c.T) / 2",
                 (long)i, (long)j, w[i * n + j], (long)j, (long)i, w[j * n + i], ROUNDING, most,
                 name[0], name[0]);
        py_fail(state, PY_INPUT_ERROR, "%s must be symmetric: %s", name, text);
        return -1;
      }
  }
  return 0;
}

// One body of `bodies`: adds its H C H^T to *w, made by the first.
static int add_body(py_state *state, PyObject *object, Py_ssize_t index, PyObject **w) {
  PyObject *directions_obj, *compliance_obj;
  char directions_name[48], compliance_name[48];
  py_in directions = {0}, compliance = {0};
  int result = -1;
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2) {
    py_fail(state, PY_INPUT_TYPE_ERROR, "bodies[%zd] must be a tuple (H, C)", index);
    return -1;
  }
  directions_obj = PyTuple_GET_ITEM(object, 0);
  compliance_obj = PyTuple_GET_ITEM(object, 1);
  snprintf(directions_name, sizeof directions_name, "H of bodies[%zd]", index);
  snprintf(compliance_name, sizeof compliance_name, "C of bodies[%zd]", index);
  const npy_intp rows = *w ? PyArray_DIM((PyArrayObject *)*w, 0) : PY_ANY;
  if (py_in_f64(&directions, directions_obj, directions_name, 2, (npy_intp[]){rows, PY_ANY}) < 0)
    goto done;
  const npy_intp m = directions.shape[0], n = directions.shape[1];
  if (m < 3 || m % 3 || m > 3 * RF_FRICTION_MOST) {
    py_fail(state, PY_INPUT_ERROR,
            "%s must have three rows a contact, normal and two tangents, of 1 to %d contacts; got "
            "%zd rows",
            directions_name, RF_FRICTION_MOST, m);
    goto done;
  }
  if (py_in_f64(&compliance, compliance_obj, compliance_name, 2, (npy_intp[]){n, n}) < 0 ||
      require_compliance(state, &compliance, compliance_name, false) < 0)
    goto done;
  if (!*w && !(*w = py_new_f64(2, (npy_intp[]){m, m}))) goto done;
  const rf_delassus_body body = {
      .coordinates = (int32_t)n, .directions = directions.data, .compliance = compliance.data};
  double *to = py_f64(*w);
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_delassus_add(&body, (int32_t)m, to, &err));
  if (st < 0)
    py_raise(state, st, &err);
  else
    result = 0;
done:
  PY_IN_RELEASE(&directions, &compliance);
  return result;
}

PyDoc_STRVAR(delassus_doc,
             "delassus($module, bodies, compliance, /)\n--\n\n"
             "Sum of H C H^T (3m, 3m) of bodies (H, C), a sequence, and compliance * 1.");
static PyObject *delassus(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *bodies, *w = NULL;
  double compliance;
  if (!PyArg_ParseTuple(args, "Od:delassus", &bodies, &compliance)) return NULL;
  PyObject *list = PySequence_Fast(bodies, "bodies must be a sequence of tuples (H, C)");
  if (!list) return NULL;
  int st = 0;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(list) && st == 0; ++k)
    st = add_body(state, PySequence_Fast_GET_ITEM(list, k), k, &w);
  if (st == 0 && !w) py_fail(state, PY_INPUT_ERROR, "bodies is empty");
  Py_DECREF(list);
  if (st < 0 || !w) {
    Py_XDECREF(w);
    return NULL;
  }
  const npy_intp n = PyArray_DIM((PyArrayObject *)w, 0);
  for (npy_intp i = 0; i < n; ++i) py_f64(w)[i * (n + 1)] += compliance;
  return w;
}

// A solve: what goes in, and what comes out.
typedef struct problem {
  py_in matrix, free, mu, start;
  int factor;  // the matrix is V of W = V V^T + compliance
  double compliance;
  int simd;
  enum { NEWTON, SWEEPS, PYRAMID } method;
  double change;  // that ends sweeps
  int most;       // sweeps, or sides of the pyramid
  py_run run;
  rf_friction_limits limits;
  PyObject *force, *gap, *state;
} problem;

static void release(problem *p) {
  PY_IN_RELEASE(&p->matrix, &p->free, &p->mu, &p->start);
  PY_XDECREF(p->force, p->gap, p->state);
}

static int convert(problem *p, PyObject *const object[4]) {
  if (py_in_f64(&p->matrix, object[0], "W", 2, (npy_intp[]){PY_ANY, PY_ANY}) < 0) return -1;
  const npy_intp rows = p->matrix.shape[0], m = rows / 3;
  const npy_intp shape[2] = {m, 3};
  if (py_in_f64(&p->free, object[1], "free", 2, shape) < 0) return -1;
  if (py_in_f64(&p->mu, object[2], "mu", 1, &m) < 0) return -1;
  if (object[3] != Py_None && py_in_f64(&p->start, object[3], "start", 2, shape) < 0) return -1;
  p->force = py_new_f64(2, shape);
  p->gap = py_new_f64(2, shape);
  p->state = py_new_i32(1, &m);
  return p->force && p->gap && p->state ? 0 : -1;
}

static rf_status solve_by_pyramid(const problem *p, rf_friction *solver,
                                  const rf_friction_limits *limits, rf_contact_state *state,
                                  rf_friction_report *report, rf_error *err) {
  const double *free = p->free.data, *mu = p->mu.data;
  double *force = py_f64(p->force);
  const int32_t m = (int32_t)p->mu.shape[0];
  rf_lemke_report lemke;
  const double begun_us = rf_clock_us_rt();
  rf_status st =
      rf_pyramid_solve(m, p->most, p->matrix.data, free, mu, &p->run.run, force, &lemke, err);
  const double took_us = rf_clock_us_rt() - begun_us;
  if (st < 0) return st;
  // states and residual of these forces
  st = rf_friction_sweeps_rt(solver, free, mu, force, 0.0, 0, limits, force, py_f64(p->gap), state,
                             report);
  report->end = lemke.failed ? RF_FRICTION_STALLED : RF_FRICTION_SOLVED;
  report->steps = lemke.pivots;
  report->elapsed_us = took_us;
  return st;
}

static rf_status solve_by(const problem *p, rf_friction *solver, rf_contact_state *state,
                          rf_friction_report *report, rf_error *err) {
  const double *free = p->free.data, *mu = p->mu.data, *start = p->start.data;
  double *force = py_f64(p->force), *gap = py_f64(p->gap);
  rf_friction_poll asked = {.run = &p->run.run, .err = err};
  rf_friction_limits limits = p->limits;
  limits.stop = rf_friction_poll_stop;
  limits.context = &asked;
  rf_status st;
  switch (p->method) {
    case SWEEPS:
      st = rf_friction_sweeps_rt(solver, free, mu, start, p->change, p->most, &limits, force, gap,
                                 state, report);
      break;
    case PYRAMID: st = solve_by_pyramid(p, solver, &limits, state, report, err); break;
    default: st = rf_friction_solve_rt(solver, free, mu, start, &limits, force, gap, state, report);
  }
  return st < 0 ? st : asked.st;
}

static rf_status solve(const problem *p, rf_friction_report *report, rf_error *err) {
  const int32_t m = (int32_t)p->mu.shape[0], rank = p->factor ? (int32_t)p->matrix.shape[1] : 0;
  const rf_friction_settings set = {.most = m, .most_rank = rank, .simd = (rf_simd)p->simd};
  rf_friction *solver = NULL;
  rf_contact_state *state = NULL;
  rf_status st = RF_OK;
  RF_ALLOC(state, m);
  RF_TRY(rf_friction_create(&set, &solver, err));
  st = p->factor ? rf_friction_set_factor_rt(solver, m, rank, p->matrix.data, p->compliance)
                 : rf_friction_set_matrix_rt(solver, m, p->matrix.data);
  if (st >= 0) st = solve_by(p, solver, state, report, err);
  if (st == RF_ERR_ARG && err->status == RF_OK)
    rf_fail(err, st,
            "W, free, mu or start has a value out of range: mean(diag(W)) and max|free| must be "
            "below %g, mu at most %g",
            RF_FRICTION_MOST_SCALE, RF_FRICTION_MOST_MU);
  for (int32_t i = 0; i < m; ++i) py_i32(p->state)[i] = (int32_t)state[i];
done:
  rf_friction_free(solver);
  rf_free(state);
  return st;
}

// Converts, solves and makes the result of all methods.
static PyObject *result_of(py_state *state, problem *p, PyObject *const object[4]) {
  PyObject *result = NULL;
  rf_friction_report report = {0};
  rf_error err = {0};
  rf_status st;
  if (py_run_init(state, &p->run, Py_None, 1) < 0 || convert(p, object) < 0) goto done;
  if (p->matrix.shape[0] % 3 || (!p->factor && p->matrix.shape[1] != p->matrix.shape[0])) {
    py_fail(state, PY_INPUT_ERROR,
            "W must have shape (3m, 3m), three rows a contact; got (%zd, %zd)", p->matrix.shape[0],
            p->matrix.shape[1]);
    goto done;
  }
  if (p->factor && p->matrix.shape[1] < 1) {
    py_fail(state, PY_INPUT_ERROR, "W as a factor must have a column, got shape (%zd, 0)",
            p->matrix.shape[0]);
    goto done;
  }
  if (!p->factor && require_compliance(state, &p->matrix, "W", true) < 0) goto done;
  if (!(p->limits.tolerance > 0.0 && p->limits.budget_us > 0.0 && p->compliance >= 0.0 &&
        isfinite(p->compliance))) {
    py_fail(state, PY_INPUT_ERROR,
            "tol and budget_us must be positive, compliance finite and >= 0");
    goto done;
  }
  PY_WITHOUT_GIL(st = solve(p, &report, &err));
  if (st < 0)
    py_raise(state, st, &err);
  else
    result = Py_BuildValue("OOO(idiiid)", p->force, p->gap, p->state, (int)report.end,
                           report.residual, (int)report.sweeps, (int)report.steps,
                           (int)report.centres, report.elapsed_us);
done:
  release(p);
  return result;
}

PyDoc_STRVAR(
    solve_doc,
    "friction_solve($module, matrix, free, mu, start, tol, budget_us, factor=False, "
    "compliance=0.0, simd=0, /)\n--\n\n"
    "Forces by the laws of Signorini and Coulomb; matrix: W (3m, 3m), or with `factor` V\n"
    "(3m, r) of W = V V^T + compliance. Tuple (force, gap, state, (end, residual, sweeps, steps,\n"
    "centres, microseconds)).");
static PyObject *friction_solve(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *object[4];
  problem p = {0};
  if (!PyArg_ParseTuple(args, "OOOOdd|pdi:friction_solve", &object[0], &object[1], &object[2],
                        &object[3], &p.limits.tolerance, &p.limits.budget_us, &p.factor,
                        &p.compliance, &p.simd))
    return NULL;
  return result_of(state, &p, object);
}

PyDoc_STRVAR(sweeps_doc,
             "friction_sweeps($module, W, free, mu, start, change, most_sweeps, /)\n--\n\n"
             "The same by sweeps alone, until the relative changes of the forces add up to less\n"
             "than `change`.");
static PyObject *friction_sweeps(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *object[4];
  problem p = {.method = SWEEPS, .limits = {.tolerance = 1.0, .budget_us = INFINITY}};
  if (!PyArg_ParseTuple(args, "OOOOdi:friction_sweeps", &object[0], &object[1], &object[2],
                        &object[3], &p.change, &p.most))
    return NULL;
  return result_of(state, &p, object);
}

PyDoc_STRVAR(pyramid_doc,
             "friction_pyramid($module, W, free, mu, sides, /)\n--\n\n"
             "The same with a pyramid of `sides` in place of the cone, by Lemke's method; `steps`\n"
             "are its pivots.");
static PyObject *friction_pyramid(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *object[4] = {[3] = Py_None};
  problem p = {.method = PYRAMID, .limits = {.tolerance = 1.0, .budget_us = INFINITY}};
  if (!PyArg_ParseTuple(args, "OOOi:friction_pyramid", &object[0], &object[1], &object[2], &p.most))
    return NULL;
  return result_of(state, &p, object);
}

static PyMethodDef functions[] = {
    {"delassus", delassus, METH_VARARGS, delassus_doc},
    {"friction_pyramid", friction_pyramid, METH_VARARGS, pyramid_doc},
    {"friction_solve", friction_solve, METH_VARARGS, solve_doc},
    {"friction_sweeps", friction_sweeps, METH_VARARGS, sweeps_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_friction_room = {.functions = functions};
