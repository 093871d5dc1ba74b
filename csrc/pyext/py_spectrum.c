// Frequencies and stable steps of solids and reduced models.
#include "base/alloc.h"
#include "dynamics/spectrum.h"
#include "fem/mass_solve.h"
#include "pyext/py_reduced.h"
#include "pyext/py_solid.h"
#include "pyext/py_source.h"

PyDoc_STRVAR(eigenvalues_doc,
             "reduced_eigenvalues(system, q, /)\n--\n\n"
             "Eigenvalues (r,) of K(q) x = lambda M x, ascending; q None: rest.");
static PyObject *reduced_eigenvalues(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *system, *q_obj;
  py_in q = {0};
  if (!PyArg_ParseTuple(args, "OO:reduced_eigenvalues", &system, &q_obj)) return NULL;
  const rf_reduced *model = py_reduced_get(state, system);
  if (!model || (q_obj != Py_None && py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){model->r}) < 0))
    return NULL;
  PyObject *out = py_new_f64(1, (npy_intp[]){model->r});
  rf_error err = {0};
  rf_status st = RF_OK;
  if (out) {
    double *values = py_f64(out);
    PY_WITHOUT_GIL(st = rf_spectrum_reduced(model, q.data, values, &err));
  }
  py_in_release(&q);
  return py_result(state, st, &err, out);
}

PyDoc_STRVAR(step_doc,
             "stable_step(system, x, damping, threads, strain_rate=None, /)\n--\n\n"
             "Largest stable step [s] of central differences at x (None: rest). damping: (alpha,\n"
             "beta); a damping matrix is left out.");
static PyObject *stable_step(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *system, *x_obj, *strain_rate = Py_None, *result = NULL;
  double step = 0.0;
  int threads;
  py_run run;
  py_source from = {0};
  py_in x = {0};
  if (!PyArg_ParseTuple(args, "OO(dd)i|O:stable_step", &system, &x_obj, &from.damping.mass,
                        &from.damping.stiffness, &threads, &strain_rate) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  const py_system_kind *kind = py_source_in(state, system, strain_rate, &from);
  if (!kind || py_source_vector_in(&from, &x, x_obj, "q") < 0) goto done;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_system_damping_check(&from.damping, &err);
  if (st >= 0) st = kind->stable_step(from.model, &run.run, x.data, &from.damping, &step, &err);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(step);
done:
  py_in_release(&x);
  py_source_release(&from);
  return result;
}

static rf_status highest_at_rest(const rf_solid *solid, const rf_run *run, int lumped, double tol,
                                 double *highest, rf_error *err) {
  rf_status st = RF_OK;
  double *blocks = NULL;
  RF_ALLOC(blocks, 9 * (int64_t)solid->graph.ptr[solid->mesh->n_nodes]);
  RF_TRY(rf_solid_evaluate(solid, run, NULL, NULL, NULL, blocks, err));
  RF_TRY(rf_solid_highest(solid, run, blocks, lumped != 0, tol, highest, err));
done:
  rf_free(blocks);
  return st;
}

PyDoc_STRVAR(highest_doc,
             "solid_highest(system, lumped, tol, threads, /)\n--\n\n"
             "Largest eigenvalue of K x = lambda M x at rest, to the relative error tol.");
static PyObject *solid_highest(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *system;
  int lumped, threads;
  double tol;
  py_run run;
  if (!PyArg_ParseTuple(args, "Opdi:solid_highest", &system, &lumped, &tol, &threads)) return NULL;
  const rf_solid *solid = py_solid_get(state, system);
  if (!solid || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  double highest = 0.0;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = highest_at_rest(solid, &run.run, lumped, tol, &highest, &err));
  return st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(highest);
}

static PyMethodDef functions[] = {
    {"reduced_eigenvalues", reduced_eigenvalues, METH_VARARGS, eigenvalues_doc},
    {"stable_step", stable_step, METH_VARARGS, step_doc},
    {"solid_highest", solid_highest, METH_VARARGS, highest_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_spectrum_room = {.functions = functions};
