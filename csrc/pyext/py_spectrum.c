// Frequencies and stable steps of solids and reduced models.
#include "base/alloc.h"
#include "dynamics/spectrum.h"
#include "pyext/py_convert.h"
#include "pyext/py_damping.h"
#include "pyext/py_projected.h"
#include "pyext/py_reduced.h"
#include "pyext/py_second_order.h"
#include "pyext/py_solid.h"

// reduced coordinates, or NULL data when the object is None
static int coordinates_in(py_in *q, PyObject *object, const rf_reduced *model) {
  *q = (py_in){0};
  return object == Py_None ? 0 : py_in_f64(q, object, "q", 1, (npy_intp[]){model->r});
}

PyDoc_STRVAR(eigenvalues_doc,
             "reduced_eigenvalues(system, q, /)\n--\n\n"
             "Eigenvalues (r,) of K(q) x = lambda M x, ascending; q None: rest.");
static PyObject *reduced_eigenvalues(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *system, *q_obj;
  py_in q;
  if (!PyArg_ParseTuple(args, "OO:reduced_eigenvalues", &system, &q_obj)) return NULL;
  const rf_reduced *model = py_reduced_get(state, system);
  if (!model || coordinates_in(&q, q_obj, model) < 0) return NULL;
  PyObject *out = py_new_f64(1, (npy_intp[]){model->r});
  rf_error err = {0};
  rf_status st = RF_OK;
  if (out) {
    double *values = py_f64(out);
    Py_BEGIN_ALLOW_THREADS
    st = rf_spectrum_reduced(model, q.data, values, &err);
    Py_END_ALLOW_THREADS
  }
  py_in_release(&q);
  return py_result(state, st, &err, out);
}

PyDoc_STRVAR(reduced_step_doc,
             "reduced_stable_step(system, q, beta_damping, strain_rate=None, /)\n--\n\n"
             "Largest stable step [s] of central differences at q (None: rest).");
static PyObject *reduced_stable_step(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *system, *q_obj, *damping_obj = Py_None;
  const rf_damping *damping;
  double stiff, step = 0.0;
  py_in q;
  if (!PyArg_ParseTuple(args, "OOd|O:reduced_stable_step", &system, &q_obj, &stiff, &damping_obj))
    return NULL;
  const rf_reduced *model = py_reduced_get(state, system);
  if (!model || py_damping_in(state, damping_obj, &damping) < 0 ||
      coordinates_in(&q, q_obj, model) < 0)
    return NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_stable_step_reduced(model, q.data, stiff, damping, &step, &err);
  Py_END_ALLOW_THREADS
  py_in_release(&q);
  return st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(step);
}

PyDoc_STRVAR(solid_step_doc,
             "solid_stable_step(system, u, beta_damping, threads, viscosity=None, /)\n--\n\n"
             "Stable step [s] of central differences at u (None: rest).");
static PyObject *solid_stable_step(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *system, *u_obj, *viscosity_obj = Py_None, *result = NULL;
  double stiff, step = 0.0;
  int threads;
  py_run run;
  py_in u = {0}, viscosity = {0};
  if (!PyArg_ParseTuple(args, "OOdi|O:solid_stable_step", &system, &u_obj, &stiff, &threads,
                        &viscosity_obj))
    return NULL;
  const rf_solid *solid = py_solid_get(state, system);
  if (!solid || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  if ((u_obj != Py_None && py_in_field(&u, u_obj, "q", solid->mesh->n_nodes) < 0) ||
      py_viscosity_in(&viscosity, viscosity_obj, solid) < 0)
    goto done;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_stable_step_solid(solid, &run.run, u.data, stiff, viscosity.data, &step, &err);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(step);
done:
  py_in_release(&u);
  py_in_release(&viscosity);
  return result;
}

PyDoc_STRVAR(projected_step_doc,
             "projected_stable_step(system, q, beta_damping, threads, viscosity=None, /)\n--\n\n"
             "Largest stable step [s] of central differences at q (None: rest).");
static PyObject *projected_stable_step(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *system, *q_obj, *viscosity_obj = Py_None, *result = NULL;
  double stiff, step = 0.0;
  int threads;
  py_run run;
  py_in q = {0}, viscosity = {0};
  if (!PyArg_ParseTuple(args, "OOdi|O:projected_stable_step", &system, &q_obj, &stiff, &threads,
                        &viscosity_obj))
    return NULL;
  const rf_projected *model = py_projected_get(state, system);
  if (!model || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  if ((q_obj != Py_None && py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){model->r}) < 0) ||
      py_viscosity_in(&viscosity, viscosity_obj, model->solid) < 0)
    goto done;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_stable_step_projected(model, &run.run, q.data, stiff, viscosity.data, &step, &err);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(step);
done:
  py_in_release(&q);
  py_in_release(&viscosity);
  return result;
}

PyDoc_STRVAR(matrices_step_doc,
             "matrices_stable_step(system, beta_damping, threads, /)\n--\n\n"
             "Largest stable step [s] of central differences without a damping matrix.");
static PyObject *matrices_stable_step(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *system;
  double stiff, step = 0.0;
  int threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "Odi:matrices_stable_step", &system, &stiff, &threads)) return NULL;
  const rf_matrices *m = py_matrices_get(state, system);
  if (!m || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_stable_step_matrices(&m->mass, &m->stiffness, &run.run, stiff, &step, &err);
  Py_END_ALLOW_THREADS
  return st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(step);
}

static rf_status highest_at_rest(const rf_solid *solid, const rf_run *run, int lumped,
                                 double *highest, rf_error *err) {
  rf_status st = RF_OK;
  double *blocks = NULL;
  RF_ALLOC(blocks, 9 * (int64_t)solid->graph.ptr[solid->mesh->n_nodes]);
  RF_TRY(rf_solid_evaluate(solid, run, NULL, NULL, NULL, blocks, err));
  RF_TRY(rf_solid_highest(solid, run, blocks, lumped != 0, highest, err));
done:
  rf_free(blocks);
  return st;
}

PyDoc_STRVAR(highest_doc,
             "solid_highest(system, lumped, threads, /)\n--\n\n"
             "Estimate of the largest eigenvalue of K x = lambda M x at rest.");
static PyObject *solid_highest(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *system;
  int lumped, threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "Opi:solid_highest", &system, &lumped, &threads)) return NULL;
  const rf_solid *solid = py_solid_get(state, system);
  if (!solid || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  double highest = 0.0;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = highest_at_rest(solid, &run.run, lumped, &highest, &err);
  Py_END_ALLOW_THREADS
  return st < 0 ? py_raise(state, st, &err) : PyFloat_FromDouble(highest);
}

static PyMethodDef functions[] = {
    {"reduced_eigenvalues", reduced_eigenvalues, METH_VARARGS, eigenvalues_doc},
    {"reduced_stable_step", reduced_stable_step, METH_VARARGS, reduced_step_doc},
    {"projected_stable_step", projected_stable_step, METH_VARARGS, projected_step_doc},
    {"matrices_stable_step", matrices_stable_step, METH_VARARGS, matrices_step_doc},
    {"solid_stable_step", solid_stable_step, METH_VARARGS, solid_step_doc},
    {"solid_highest", solid_highest, METH_VARARGS, highest_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_spectrum_room = {.functions = functions};
