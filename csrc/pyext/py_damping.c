// The type _core.Damping, strain-rate damping of reduced coordinates, and that of solids.
#include "pyext/py_damping.h"

#include "base/alloc.h"
#include "pyext/py_object.h"
#include "pyext/py_solid.h"

static const rf_damping *self_damping(PyObject *self) { return py_held(self); }

int py_damping_in(py_state *state, PyObject *object, const rf_damping **damping) {
  *damping = NULL;
  if (object == Py_None) return 0;
  if (py_require_type(state, object, PY_DAMPING, "strain_rate", "ReducedStrainRateDamping") < 0)
    return -1;
  *damping = self_damping(object);
  return 0;
}

int py_viscosity_in(py_in *in, PyObject *object, const rf_solid *solid) {
  *in = (py_in){0};
  if (object == Py_None) return 0;
  return py_in_f64(in, object, "viscosity", 2, (npy_intp[]){solid->n_materials, 2});
}

static void release(void *damping) { rf_damping_free(damping); }

// Wraps a C damping, taken over also on failure.
static PyObject *wrap(PyTypeObject *type, rf_damping *damping) {
  return py_object_new(type, damping, release, NULL);
}

static PyObject *damping_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *coefficient_obj;
  int r, simd = RF_SIMD_BEST;
  py_in coefficient;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "iO|i:Damping", &r, &coefficient_obj, &simd)) return NULL;
  if (r < 1 || r > RF_DAMPING_MAX_R)
    return py_fail(state, PY_INPUT_ERROR, "r must be between 1 and %d, got %d", RF_DAMPING_MAX_R,
                   r);
  if (py_in_f64(&coefficient, coefficient_obj, "coefficients", 1,
                (npy_intp[]){(npy_intp)rf_damping_count(r)}) < 0)
    return NULL;
  rf_damping *damping = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_damping_create(r, coefficient.data, (rf_simd)simd, &damping, &err));
  py_in_release(&coefficient);
  return st < 0 ? py_raise(state, st, &err) : wrap(type, damping);
}

static rf_status reduce_damping_in_c(const rf_solid *solid, const rf_run *run, int32_t r,
                                     const double *basis, const double *viscosity, rf_simd simd,
                                     rf_damping **out, rf_error *err) {
  rf_status st = RF_OK;
  double *gram = NULL;
  RF_ALLOC(gram, rf_damping_count(r));
  RF_TRY(rf_damping_build(solid, run, r, basis, viscosity, simd, gram, err));
  RF_TRY(rf_damping_create(r, gram, simd, out, err));
done:
  rf_free(gram);
  return st;
}

PyDoc_STRVAR(reduce_doc,
             "reduce_damping(solid, basis, viscosity, progress, threads, simd=0, /)\n--\n\n"
             "Damping of a solid in the span of a basis (r, n, 3); viscosity (m, 2): phi and psi.");
static PyObject *reduce_damping(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid_obj, *basis_obj, *viscosity_obj, *progress, *result = NULL;
  int threads, simd = RF_SIMD_BEST;
  py_run run;
  py_in basis = {0}, viscosity = {0};
  if (!PyArg_ParseTuple(args, "OOOOi|i:reduce_damping", &solid_obj, &basis_obj, &viscosity_obj,
                        &progress, &threads, &simd))
    return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &run, progress, threads) < 0) return NULL;
  if (py_in_motions(state, &basis, basis_obj, "basis", solid) < 0 ||
      py_in_f64(&viscosity, viscosity_obj, "viscosity", 2, (npy_intp[]){solid->n_materials, 2}) < 0)
    goto done;
  if (basis.shape[0] < 1 || basis.shape[0] > RF_DAMPING_MAX_R) {
    py_fail(state, PY_INPUT_ERROR, "basis must have 1 to %d vectors, got %zd", RF_DAMPING_MAX_R,
            (Py_ssize_t)basis.shape[0]);
    goto done;
  }
  rf_damping *damping = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = reduce_damping_in_c(solid, &run.run, (int32_t)basis.shape[0], basis.data,
                                          viscosity.data, (rf_simd)simd, &damping, &err));
  result = st < 0 ? py_raise(state, st, &err) : wrap(state->types[PY_DAMPING], damping);
done:
  PY_IN_RELEASE(&basis, &viscosity);
  return result;
}

PyDoc_STRVAR(matrix_doc,
             "matrix($self, q, /)\n--\n\n"
             "Damping matrix (r, r) at q (r,).");
static PyObject *matrix(PyObject *self, PyObject *q_obj) {
  const rf_damping *d = self_damping(self);
  py_in q;
  PyObject *out = NULL;
  if (py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){d->r}) < 0) return NULL;
  void *work = rf_alloc(rf_damping_work_bytes(d->r), 1);
  if (work)
    out = py_new_f64(2, (npy_intp[]){d->r, d->r});
  else
    PyErr_SetString(PyExc_MemoryError, "out of memory: scratch of a damping matrix");
  if (out) {
    double *to = py_f64(out);
    PY_WITHOUT_GIL(rf_damping_matrix_rt(d, q.data, work, to, d->r));
  }
  rf_free(work);
  py_in_release(&q);
  return out;
}

PyDoc_STRVAR(truncate_doc,
             "truncate($self, r, /)\n--\n\n"
             "Damping of the first r coordinates.");
static PyObject *truncate_to(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  int r;
  if (!PyArg_ParseTuple(args, "i:truncate", &r)) return NULL;
  rf_damping *damping = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_damping_truncate(self_damping(self), r, &damping, &err));
  return st < 0 ? py_raise(state, st, &err) : wrap(Py_TYPE(self), damping);
}

PyDoc_STRVAR(solid_doc,
             "solid_damping(solid, viscosity, u, v, threads, /)\n--\n\n"
             "Power [W] and force (n, 3) of strain-rate damping.");
static PyObject *solid_damping(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *objects[4], *force = NULL, *result = NULL;
  int threads;
  py_run run;
  py_in viscosity = {0}, u = {0}, v = {0};
  if (!PyArg_ParseTuple(args, "OOOOi:solid_damping", objects, objects + 1, objects + 2, objects + 3,
                        &threads))
    return NULL;
  const rf_solid *s = py_solid_get(state, objects[0]);
  if (!s || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  if (py_viscosity_in(&viscosity, objects[1], s) < 0 ||
      py_in_motion(state, &u, objects[2], "u", s) < 0 ||
      py_in_motion(state, &v, objects[3], "v", s) < 0)
    goto done;
  force = py_new_f64(2, (npy_intp[]){s->mesh->n_nodes, 3});
  if (!force) goto done;
  rf_error err = {0};
  rf_status st;
  double power = 0.0, *to = py_f64(force);
  Py_BEGIN_ALLOW_THREADS
  st = rf_viscosity_check(s->n_materials, viscosity.data, &err);
  if (st >= 0)
    st = rf_solid_damping(s, &run.run, viscosity.data, u.data, v.data, &power, to, NULL, &err);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : Py_BuildValue("dO", power, force);
done:
  PY_IN_RELEASE(&viscosity, &u, &v);
  Py_XDECREF(force);
  return result;
}

static rf_status whole_matrix(const rf_solid *s, const rf_run *run, const double *viscosity,
                              const double *u, rf_csc *out, rf_error *err) {
  rf_status st = RF_OK;
  double *blocks = NULL;
  RF_TRY(rf_viscosity_check(s->n_materials, viscosity, err));
  RF_ALLOC(blocks, 9 * (int64_t)s->graph.ptr[s->mesh->n_nodes]);
  RF_TRY(rf_solid_damping(s, run, viscosity, u, NULL, NULL, NULL, blocks, err));
  RF_TRY(rf_solid_full_tangent(s, blocks, out, err));
done:
  rf_free(blocks);
  return st;
}

PyDoc_STRVAR(solid_matrix_doc,
             "solid_damping_matrix(solid, viscosity, u, threads, /)\n--\n\n"
             "Full damping matrix at u (None: rest) as CSC arrays (data, indices, indptr).");
static PyObject *solid_damping_matrix(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *objects[3], *result = NULL;
  int threads;
  py_run run;
  py_in viscosity = {0}, u = {0};
  if (!PyArg_ParseTuple(args, "OOOi:solid_damping_matrix", objects, objects + 1, objects + 2,
                        &threads))
    return NULL;
  const rf_solid *s = py_solid_get(state, objects[0]);
  if (!s || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  if (py_viscosity_in(&viscosity, objects[1], s) < 0 ||
      (objects[2] != Py_None && py_in_motion(state, &u, objects[2], "u", s) < 0))
    goto done;
  rf_csc out = {0};
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = whole_matrix(s, &run.run, viscosity.data, u.data, &out, &err));
  result = st < 0 ? py_raise(state, st, &err) : py_csc_out(&out);
done:
  PY_IN_RELEASE(&viscosity, &u);
  return result;
}

PY_GETTER(get_r, self, rf_damping, d, PyLong_FromLong(d->r))
PY_GETTER(get_coefficients, self, rf_damping, d,
          py_view_f64(self, d->gram, 1, (npy_intp[]){(npy_intp)d->count}))

static PyMethodDef methods[] = {
    {"matrix", matrix, METH_O, matrix_doc},
    {"truncate", truncate_to, METH_VARARGS, truncate_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"r", get_r, NULL, "Number of reduced coordinates.", NULL},
    {"coefficients", get_coefficients, NULL,
     "Gram matrix of strains over pairs of coordinates, lower triangle; read-only view.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(damping_doc,
             "Damping(r, coefficients, simd=0, /)\n--\n\n"
             "Immutable strain-rate damping of r reduced coordinates.");

static PyType_Spec spec =
    PY_SPEC("Damping", py_object, {Py_tp_new, damping_new}, {Py_tp_dealloc, py_object_dealloc},
            {Py_tp_methods, methods}, {Py_tp_getset, getters}, {Py_tp_doc, (void *)damping_doc});

static PyMethodDef functions[] = {
    {"reduce_damping", reduce_damping, METH_VARARGS, reduce_doc},
    {"solid_damping", solid_damping, METH_VARARGS, solid_doc},
    {"solid_damping_matrix", solid_damping_matrix, METH_VARARGS, solid_matrix_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_damping_room = {.types = {{PY_DAMPING, &spec}}, .functions = functions};
