// The type _core.Projected.
#include "pyext/py_projected.h"

#include "linalg/vector.h"
#include "pyext/py_convert.h"
#include "pyext/py_damping.h"
#include "pyext/py_object.h"
#include "pyext/py_solid.h"
#include "pyext/py_source.h"
#include "pyext/py_statics.h"

static const rf_projected *self_model(PyObject *self) { return py_held(self); }

const rf_projected *py_projected_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_PROJECTED, "system", "ProjectedSolid");
}

static void release(void *model) { rf_projected_free(model); }

static PyObject *projected_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *solid_obj, *basis_obj;
  int threads;
  py_run run;
  py_in basis = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOi:Projected", &solid_obj, &basis_obj, &threads)) return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &run, NULL, threads) < 0 ||
      py_in_motions(state, &basis, basis_obj, "basis", solid) < 0)
    return NULL;
  const npy_intp r = basis.shape[0];
  if (r < 1 || r > RF_PROJECTED_MAX_R) {
    py_in_release(&basis);
    return py_fail(state, PY_INPUT_ERROR, "basis must have 1 to %d vectors, got %zd",
                   RF_PROJECTED_MAX_R, (Py_ssize_t)r);
  }
  rf_projected *model = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_projected_create(solid, &run.run, (int32_t)r, basis.data, &model, &err));
  py_in_release(&basis);
  // the model borrows the solid
  return st < 0 ? py_raise(state, st, &err) : py_object_new(type, model, release, solid_obj);
}

// Result of a method; one function computes them all.
typedef enum py_wanted { ENERGY, FORCE, STIFFNESS, DEFINITE, DISPLACEMENT, PROJECTION } py_wanted;

// Computes `count` values.
static rf_status compute(const rf_projected *m, const rf_run *run, py_wanted wanted,
                         const double *from, int64_t count, double *to, rf_error *err) {
  if (wanted == DISPLACEMENT) return rf_projected_displacement(m, run, from, to, err);
  if (wanted == PROJECTION) return rf_projected_project(m, run, from, to, err);
  rf_projected_work *work = NULL;
  rf_status st = rf_projected_work_create(m, &work, err);
  const unsigned kind = wanted == DEFINITE ? RF_TANGENT_DEFINITE : 0;
  double *matrix = wanted == STIFFNESS || wanted == DEFINITE ? to : NULL;
  if (st >= 0)
    st = rf_projected_evaluate_as(m, run, work, kind, from, wanted == ENERGY ? to : NULL,
                                  wanted == FORCE ? to : NULL, matrix, m->r, err);
  if (st >= 0 && !isfinite(rf_norm(count, to)))
    st = rf_projected_require_defined(m, run, work, from, "q", err);
  rf_projected_work_free(work);
  return st;
}

// Evaluates with the arguments (q or force, threads), and `definite` of the stiffness; the result
// has `ndim` axes.
static PyObject *answer(PyObject *self, PyObject *args, py_wanted wanted, int ndim,
                        const npy_intp *shape) {
  const rf_projected *m = self_model(self);
  py_state *state = py_state_of_object(self);
  PyObject *from_obj;
  const char *format = wanted == STIFFNESS ? "Oi|p" : "Oi";
  int threads, definite = 0;
  py_run run;
  py_in from = {0};
  if (!PyArg_ParseTuple(args, format, &from_obj, &threads, &definite) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  if (definite) wanted = DEFINITE;
  const int bad = wanted == PROJECTION
                      ? py_in_field(&from, from_obj, "force", m->solid->mesh->n_nodes)
                      : py_in_f64(&from, from_obj, "q", 1, (npy_intp[]){m->r});
  if (bad < 0) return NULL;
  PyObject *out = py_new_f64(ndim, shape);
  rf_error err = {0};
  rf_status st = RF_OK;
  if (out) {
    double *to = py_f64(out);
    const int64_t count = PyArray_SIZE((PyArrayObject *)out);
    PY_WITHOUT_GIL(st = compute(m, &run.run, wanted, from.data, count, to, &err));
  }
  py_in_release(&from);
  return py_result(state, st, &err, out);
}

PyDoc_STRVAR(force_doc,
             "internal_force($self, q, threads, /)\n--\n\n"
             "Reduced internal force (r,) at q (r,).");
static PyObject *internal_force(PyObject *self, PyObject *args) {
  return answer(self, args, FORCE, 1, (npy_intp[]){self_model(self)->r});
}

PyDoc_STRVAR(stiffness_doc,
             "stiffness($self, q, threads, definite=False, /)\n--\n\n"
             "Reduced tangent stiffness (r, r) at q (r,), on request semidefinite.");
static PyObject *stiffness(PyObject *self, PyObject *args) {
  const npy_intp r = self_model(self)->r;
  return answer(self, args, STIFFNESS, 2, (npy_intp[]){r, r});
}

PyDoc_STRVAR(energy_doc,
             "strain_energy($self, q, threads, /)\n--\n\n"
             "Strain energy [J] at q (r,).");
static PyObject *strain_energy(PyObject *self, PyObject *args) {
  PyObject *value = answer(self, args, ENERGY, 1, (npy_intp[]){1});
  PyObject *out = value ? PyFloat_FromDouble(py_f64(value)[0]) : NULL;
  Py_XDECREF(value);
  return out;
}

PyDoc_STRVAR(displacement_doc,
             "displacement($self, q, threads, /)\n--\n\n"
             "u = U q, shape (n, 3).");
static PyObject *displacement(PyObject *self, PyObject *args) {
  const npy_intp n = self_model(self)->solid->mesh->n_nodes;
  return answer(self, args, DISPLACEMENT, 2, (npy_intp[]){n, 3});
}

PyDoc_STRVAR(project_doc,
             "project($self, force, threads, /)\n--\n\n"
             "Reduced force U^T f, shape (r,), of a force (n, 3) or (3n,).");
static PyObject *project(PyObject *self, PyObject *args) {
  return answer(self, args, PROJECTION, 1, (npy_intp[]){self_model(self)->r});
}

PY_GETTER(get_r, self, rf_projected, m, PyLong_FromLong(m->r))
PY_GETTER(get_mass, self, rf_projected, m, py_view_f64(self, m->mass, 2, (npy_intp[]){m->r, m->r}))

static int source_in(py_state *state, PyObject *system, PyObject *strain_rate, py_source *s) {
  const rf_projected *model = py_projected_get(state, system);
  if (!model || py_viscosity_in(&s->viscosity, strain_rate, model->solid) < 0) return -1;
  s->model = model, s->n = model->r, s->ndim = 1;
  return 0;
}

const py_source_kind py_projected_source = {PY_PROJECTED, source_in};

static PyMethodDef methods[] = {
    {"internal_force", internal_force, METH_VARARGS, force_doc},
    {"stiffness", stiffness, METH_VARARGS, stiffness_doc},
    {"strain_energy", strain_energy, METH_VARARGS, energy_doc},
    {"displacement", displacement, METH_VARARGS, displacement_doc},
    {"project", project, METH_VARARGS, project_doc},
    {"solve_static", py_projected_solve_static, METH_VARARGS, py_reduced_static_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"r", get_r, NULL, "Number of reduced coordinates.", NULL},
    {"mass", get_mass, NULL, "Reduced mass (r, r), read-only view.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(projected_doc,
             "Projected(solid, basis, threads, /)\n--\n\n"
             "Solid projected on basis (r, n, 3), evaluated by way of its unreduced forces.");

static PyType_Spec spec = PY_SPEC_KEEPING(
    "Projected", py_object, {Py_tp_new, projected_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, methods}, {Py_tp_getset, getters}, {Py_tp_doc, (void *)projected_doc});

const py_room py_projected_room = {.types = {{PY_PROJECTED, &spec}}};
