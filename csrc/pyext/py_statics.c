// Static equilibrium under one load, and under each of many.
#include "pyext/py_statics.h"

#include <string.h>

#include "base/alloc.h"
#include "dynamics/statics.h"
#include "pyext/py_loads.h"
#include "pyext/py_projected.h"
#include "pyext/py_reduced.h"
#include "pyext/py_solid.h"

// (x, report, None), or with a text where no equilibrium was found
static PyObject *outcome(py_state *state, rf_status st, const rf_error *err, PyObject *x,
                         const rf_static_report *r) {
  if (st < 0 && st != RF_ERR_NO_CONVERGENCE) return py_raise(state, st, err);
  return Py_BuildValue("O{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:d,s:d}z", x, "iterations",
                       (int)r->iterations, "load_steps", (int)r->load_steps, "factorizations",
                       (int)r->factorizations, "shifted", (int)r->shifted, "cuts", (int)r->cuts,
                       "inverted", (int)r->inverted, "stable", (int)r->stable, "fraction",
                       r->fraction, "residual", r->residual, st < 0 ? err->text : NULL);
}

const char py_solid_static_doc[] =
    "solve_static($self, force, prescribed, u0, tol, steps, max_iterations, progress, threads, "
    "halvings=0, stability=False, /)\n--\n\n"
    "Static equilibrium (u, report, None); force, prescribed and u0 may be None: zero. On\n"
    "failure u is the state reached, and the third is the reason.";
PyObject *py_solid_solve_static(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  const rf_solid *s = py_solid_get(state, self);
  const npy_intp n = s->mesh->n_nodes;
  PyObject *objects[3], *progress, *u = NULL, *zero = NULL, *result = NULL;
  rf_static_settings set = {0};
  int threads, stability = 0;
  py_run run;
  py_in in[3] = {{0}};
  const char *const names[3] = {"force", "prescribed", "u0"};
  if (!PyArg_ParseTuple(args, "OOOdiiOi|ip:solve_static", objects, objects + 1, objects + 2,
                        &set.tolerance, &set.load_steps, &set.newton_max, &progress, &threads,
                        &set.halvings, &stability))
    return NULL;
  set.stability = stability;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  for (int k = 0; k < 3; ++k)
    if (objects[k] != Py_None && py_in_field(in + k, objects[k], names[k], n) < 0) goto done;
  u = py_new_f64(2, (npy_intp[]){n, 3});
  zero = py_new_f64(2, (npy_intp[]){n, 3});
  if (!u || !zero) goto done;
  rf_static_report report;
  rf_error err = {0};
  rf_status st;
  double *solution = py_f64(u);
  const double *force = in[0].data ? in[0].data : py_f64(zero);
  if (in[2].data) memcpy(solution, in[2].data, 3 * (size_t)n * sizeof *solution);
  PY_WITHOUT_GIL(
      st = rf_statics_solve_solid(s, &run.run, &set, force, in[1].data, solution, &report, &err));
  result = outcome(state, st, &err, u, &report);
done:
  for (int k = 0; k < 3; ++k) py_in_release(in + k);
  PY_XDECREF(u, zero);
  return result;
}

// of a reduced model, or else of a projected solid
static PyObject *reduced_static(PyObject *self, PyObject *args, npy_intp r, const rf_reduced *model,
                                const rf_projected *projected) {
  py_state *state = py_state_of_object(self);
  PyObject *force_obj, *start_obj, *progress, *q = NULL, *zero = NULL, *result = NULL;
  rf_static_settings set = {0};
  int threads, stability;
  py_run run;
  py_in force = {0}, start = {0};
  if (!PyArg_ParseTuple(args, "OOdiiOiip:solve_static", &force_obj, &start_obj, &set.tolerance,
                        &set.load_steps, &set.newton_max, &progress, &threads, &set.halvings,
                        &stability))
    return NULL;
  set.stability = stability;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  if ((force_obj != Py_None && py_in_f64(&force, force_obj, "force", 1, &r) < 0) ||
      (start_obj != Py_None && py_in_f64(&start, start_obj, "q0", 1, &r) < 0))
    goto done;
  q = py_new_f64(1, &r);
  zero = py_new_f64(1, &r);
  if (!q || !zero) goto done;
  rf_static_report report;
  rf_error err = {0};
  rf_status st;
  double *solution = py_f64(q);
  const double *load = force.data ? force.data : py_f64(zero);
  if (start.data) memcpy(solution, start.data, (size_t)r * sizeof *solution);
  PY_WITHOUT_GIL(
      st = model ? rf_statics_solve_reduced(model, &run.run, &set, load, solution, &report, &err)
                 : rf_statics_solve_projected(projected, &run.run, &set, load, solution, &report,
                                              &err));
  result = outcome(state, st, &err, q, &report);
done:
  PY_IN_RELEASE(&force, &start);
  PY_XDECREF(q, zero);
  return result;
}

const char py_reduced_static_doc[] =
    "solve_static($self, force, q0, tol, steps, max_iterations, progress, threads, halvings, "
    "stability, /)\n"
    "--\n\n"
    "Static equilibrium (q, report, None); force and q0 may be None: zero. On failure q is\n"
    "the state reached, and the third is the reason.";
PyObject *py_reduced_solve_static(PyObject *self, PyObject *args) {
  const rf_reduced *model = py_reduced_get(py_state_of_object(self), self);
  return model ? reduced_static(self, args, model->r, model, NULL) : NULL;
}
PyObject *py_projected_solve_static(PyObject *self, PyObject *args) {
  const rf_projected *model = py_projected_get(py_state_of_object(self), self);
  return model ? reduced_static(self, args, model->r, NULL, model) : NULL;
}

// scratch of the C call, and then the reports as columns
typedef struct outcomes {
  rf_static_report *reports;
  rf_status *statuses;
} outcomes;

static PyObject *columns(int32_t count, const outcomes *o) {
  const npy_intp length = count;
  PyObject *fraction = py_new_f64(1, &length), *found = py_new_i32(1, &length);
  PyObject *iterations = py_new_i32(1, &length), *shifted = py_new_i32(1, &length);
  PyObject *result = NULL;
  if (fraction && found && iterations && shifted) {
    for (int32_t i = 0; i < count; ++i) {
      py_f64(fraction)[i] = o->reports[i].fraction;
      py_i32(found)[i] = o->statuses[i] >= 0;
      py_i32(iterations)[i] = o->reports[i].iterations;
      py_i32(shifted)[i] = o->reports[i].shifted;
    }
    result = PyTuple_Pack(4, found, fraction, iterations, shifted);
  }
  PY_XDECREF(fraction, found, iterations, shifted);
  return result;
}

static rf_status solve_loads(const rf_solid *s, const rf_run *run, const rf_static_settings *set,
                             const rf_loads *loads, double *u, outcomes *o, rf_error *err) {
  rf_status st = RF_OK;
  RF_ALLOC(o->reports, loads->count);
  RF_ALLOC(o->statuses, loads->count);
  RF_TRY(rf_statics_solve_loads(s, run, set, loads, u, o->reports, o->statuses, err));
done:
  return st;
}

const char py_solid_loads_doc[] =
    "solve_loads($self, loads, tol, steps, max_iterations, halvings, progress, threads, /)\n--\n\n"
    "Static equilibria from rest: u (count, n, 3), and for each the success, the fraction of the\n"
    "load reached (to a thirty-second, unless steps end at max_iterations), iterations and\n"
    "shifted iterations. Larger multiples of a load continue from that before, or are not tried\n"
    "if it failed. loads: (ptr, node, force, patterns, coordinates).";
PyObject *py_solid_solve_loads(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  const rf_solid *s = py_solid_get(state, self);
  PyObject *loads_obj, *progress, *u = NULL, *reports = NULL, *result = NULL;
  rf_static_settings set = {0};
  int threads;
  py_run run;
  py_loads loads = {0};
  outcomes o = {0};
  if (!PyArg_ParseTuple(args, "OdiiiOi:solve_loads", &loads_obj, &set.tolerance, &set.load_steps,
                        &set.newton_max, &set.halvings, &progress, &threads))
    return NULL;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  if (py_in_loads(state, &loads, loads_obj, s->mesh->n_nodes) < 0) goto done;
  u = py_new_f64(3, (npy_intp[]){loads.view.count, s->mesh->n_nodes, 3});
  if (!u) goto done;
  rf_error err = {0};
  rf_status st;
  double *solution = py_f64(u);
  PY_WITHOUT_GIL(st = solve_loads(s, &run.run, &set, &loads.view, solution, &o, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  reports = columns(loads.view.count, &o);
  if (reports) {
    result = PyTuple_Pack(5, u, PyTuple_GET_ITEM(reports, 0), PyTuple_GET_ITEM(reports, 1),
                          PyTuple_GET_ITEM(reports, 2), PyTuple_GET_ITEM(reports, 3));
  }
done:
  rf_free(o.reports);
  rf_free(o.statuses);
  py_loads_release(&loads);
  PY_XDECREF(u, reports);
  return result;
}
