// The type _core.Reduced and the function that computes one from a solid.
#include "pyext/py_reduced.h"

#include "base/alloc.h"
#include "linalg/semidefinite.h"
#include "pyext/py_damping.h"
#include "pyext/py_fields.h"
#include "pyext/py_object.h"
#include "pyext/py_source.h"
#include "pyext/py_statics.h"

static const rf_reduced *self_model(PyObject *self) { return py_held(self); }

const rf_reduced *py_reduced_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_REDUCED, "system", "ReducedSolid or Solid");
}

static void release(void *model) { rf_reduced_free(model); }

// Wraps a C model, taken over also on failure.
static PyObject *wrap(PyTypeObject *type, rf_reduced *model) {
  return py_object_new(type, model, release, NULL);
}

PyObject *py_reduced_wrap(py_state *state, rf_reduced *model) {
  return wrap(state->types[PY_REDUCED], model);
}

static PyObject *reduced_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *basis_obj, *mass_obj, *coefficient_obj, *nodes_obj = Py_None, *result = NULL;
  int simd = RF_SIMD_BEST;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOO|iO:Reduced", &basis_obj, &mass_obj, &coefficient_obj, &simd,
                        &nodes_obj))
    return NULL;
  py_in basis = {0}, mass = {0}, coefficient = {0}, nodes = {0};
  if (py_in_f64(&basis, basis_obj, "basis", 3, (npy_intp[]){PY_ANY, PY_ANY, 3}) < 0) goto done;
  const npy_intp r = basis.shape[0];
  if (basis.shape[1] > INT32_MAX / 3) {
    py_fail(state, PY_INPUT_ERROR, "basis has %zd nodes, too many", (Py_ssize_t)basis.shape[1]);
    goto done;
  }
  if (r < 1 || r > RF_POLYNOMIAL_MAX_R) {
    py_fail(state, PY_INPUT_ERROR, "basis must have 1 to %d vectors, got %zd", RF_POLYNOMIAL_MAX_R,
            (Py_ssize_t)r);
    goto done;
  }
  if (py_in_f64(&mass, mass_obj, "mass", 2, (npy_intp[]){r, r}) < 0 ||
      py_in_f64(&coefficient, coefficient_obj, "coefficients", 1,
                (npy_intp[]){(npy_intp)rf_polynomial_count((int32_t)r)}) < 0)
    goto done;
  if (nodes_obj != Py_None &&
      py_in_f64(&nodes, nodes_obj, "nodes", 2, (npy_intp[]){basis.shape[1], 3}) < 0)
    goto done;
  rf_reduced *model = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_reduced_create((int32_t)r, (int32_t)basis.shape[1], nodes.data, basis.data,
                                        mass.data, coefficient.data, (rf_simd)simd, &model, &err));
  result = st < 0 ? py_raise(state, st, &err) : wrap(type, model);
done:
  PY_IN_RELEASE(&basis, &mass, &coefficient, &nodes);
  return result;
}

PyDoc_STRVAR(reduce_doc,
             "reduce($module, solid, basis, progress, threads, simd=0, blocks=None, /)\n--\n\n"
             "Reduced model of a solid in the span of basis (r, n, 3); blocks: the sum of the\n"
             "coefficients of all blocks, if it is known already.");
static PyObject *reduce(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *vectors, *progress, *blocks_obj = Py_None;
  int threads, simd = RF_SIMD_BEST;
  py_fields basis;
  py_in blocks = {0};
  if (!PyArg_ParseTuple(args, "OOOi|iO:reduce", &solid, &vectors, &progress, &threads, &simd,
                        &blocks_obj) ||
      py_basis_in(state, &basis, solid, vectors, progress, threads) < 0)
    return NULL;
  const npy_intp count = (npy_intp)rf_polynomial_count(basis.count);
  PyObject *result = NULL;
  if (blocks_obj != Py_None && py_in_f64(&blocks, blocks_obj, "blocks", 1, &count) < 0) goto done;
  rf_reduced *model = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_reduced_build(basis.solid, &basis.run.run, basis.count, basis.data,
                                       blocks.data, (rf_simd)simd, &model, &err));
  result = st < 0 ? py_raise(state, st, &err) : py_reduced_wrap(state, model);
done:
  py_in_release(&blocks);
  py_fields_release(&basis);
  return result;
}

// Evaluates at q with work memory of this call; energy, force and stiffness nullable.
static int evaluate(PyObject *self, PyObject *q_obj, bool definite, double *energy, double *force,
                    double *stiffness) {
  rf_status st = RF_OK;
  rf_error err = {0};
  const rf_reduced *m = self_model(self);
  py_in q;
  if (py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){m->r}) < 0) return -1;
  void *work = rf_alloc(rf_reduced_work_bytes(m), 1);
  if (!work) {
    py_in_release(&q);
    PyErr_NoMemory();
    return -1;
  }
  Py_BEGIN_ALLOW_THREADS
  rf_reduced_evaluate_as_rt(m, definite, q.data, work, energy, force, stiffness, m->r);
  if (definite && m->polynomial) st = rf_semidefinite(m->r, stiffness, &err);
  Py_END_ALLOW_THREADS
  rf_free(work);
  py_in_release(&q);
  return py_done(py_state_of_object(self), st, &err);
}

PyDoc_STRVAR(force_doc,
             "internal_force($self, q, /)\n--\n\n"
             "Reduced internal force (r,) at q (r,).");
static PyObject *internal_force(PyObject *self, PyObject *q) {
  PyObject *out = py_new_f64(1, (npy_intp[]){self_model(self)->r});
  if (out && evaluate(self, q, false, NULL, py_f64(out), NULL) < 0) Py_CLEAR(out);
  return out;
}

PyDoc_STRVAR(strain_doc,
             "strain($self, q, /)\n--\n\n"
             "Largest Green strain of the points of the cubature at q (r,).");
static PyObject *strain(PyObject *self, PyObject *q_obj) {
  const rf_reduced *m = self_model(self);
  py_in q = {0};
  if (!m->cubature)
    return py_fail(py_state_of_object(self), PY_INPUT_ERROR, "the model has no cubature");
  if (py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){m->r}) < 0) return NULL;
  const double found = rf_cubature_strain_rt(m->cubature, q.data, 0, m->cubature->n_points);
  py_in_release(&q);
  return PyFloat_FromDouble(found);
}

PyDoc_STRVAR(stiffness_doc,
             "stiffness($self, q, definite=False, /)\n--\n\n"
             "Reduced tangent stiffness (r, r) at q (r,), on request semidefinite.");
static PyObject *stiffness(PyObject *self, PyObject *args) {
  const npy_intp r = self_model(self)->r;
  PyObject *q;
  int definite = 0;
  if (!PyArg_ParseTuple(args, "O|p:stiffness", &q, &definite)) return NULL;
  PyObject *out = py_new_f64(2, (npy_intp[]){r, r});
  if (out && evaluate(self, q, definite, NULL, NULL, py_f64(out)) < 0) Py_CLEAR(out);
  return out;
}

PyDoc_STRVAR(energy_doc,
             "strain_energy($self, q, /)\n--\n\n"
             "Strain energy [J] at q (r,).");
static PyObject *strain_energy(PyObject *self, PyObject *q) {
  double energy;
  return evaluate(self, q, false, &energy, NULL, NULL) < 0 ? NULL : PyFloat_FromDouble(energy);
}

PyDoc_STRVAR(
    farthest_doc,
    "farthest($self, q, /)\n--\n\n"
    "Upper bound of the displacement of any node at q (r,), over the diagonal of the body.");
static PyObject *farthest(PyObject *self, PyObject *q_obj) {
  const rf_reduced *m = self_model(self);
  py_in q;
  if (py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){m->r}) < 0) return NULL;
  const double bound = rf_reduced_farthest_rt(m, q.data) / m->length_m;
  py_in_release(&q);
  return PyFloat_FromDouble(bound);
}

// Maps reduced to nodal values or back, on checked values.
typedef void (*linear_map)(const rf_reduced *model, const double *from, double *to);

// Returns a new array with the map of `from`, which is released.
static PyObject *mapped(PyObject *self, linear_map map, py_in *from, int ndim,
                        const npy_intp *shape) {
  PyObject *out = py_new_f64(ndim, shape);
  if (out) {
    double *to = py_f64(out);
    PY_WITHOUT_GIL(map(self_model(self), from->data, to));
  }
  py_in_release(from);
  return out;
}

PyDoc_STRVAR(displacement_doc,
             "displacement($self, q, /)\n--\n\n"
             "u = U q, shape (n, 3).");
static PyObject *displacement(PyObject *self, PyObject *q_obj) {
  const rf_reduced *m = self_model(self);
  py_in q;
  if (py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){m->r}) < 0) return NULL;
  return mapped(self, rf_reduced_displacement, &q, 2, (npy_intp[]){m->n_nodes, 3});
}

PyDoc_STRVAR(project_doc,
             "project($self, force, /)\n--\n\n"
             "Reduced force U^T f, shape (r,), of a force (n, 3) or (3n,).");
static PyObject *project(PyObject *self, PyObject *force_obj) {
  const rf_reduced *m = self_model(self);
  py_in force;
  if (py_in_field(&force, force_obj, "force", m->n_nodes) < 0) return NULL;
  return mapped(self, rf_reduced_project, &force, 1, (npy_intp[]){m->r});
}

PyDoc_STRVAR(truncate_doc,
             "truncate($self, r, /)\n--\n\n"
             "Model of the first r coordinates.");
static PyObject *truncate_to(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  int r;
  if (!PyArg_ParseTuple(args, "i:truncate", &r)) return NULL;
  rf_reduced *model = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_reduced_truncate(self_model(self), r, &model, &err));
  return st < 0 ? py_raise(state, st, &err) : wrap(Py_TYPE(self), model);
}

PyDoc_STRVAR(time_doc,
             "time_evaluate($self, q, stiffness, runs, inner, /)\n--\n\n"
             "Seconds of each of `runs` batches of `inner` evaluations, per evaluation: force\n"
             "alone or force and stiffness. For benchmarks: no Python in between.");
static PyObject *time_evaluate(PyObject *self, PyObject *args) {
  const rf_reduced *m = self_model(self);
  PyObject *q_obj, *out = NULL;
  int with_stiffness, runs, inner;
  if (!PyArg_ParseTuple(args, "Opii:time_evaluate", &q_obj, &with_stiffness, &runs, &inner))
    return NULL;
  if (runs < 1 || inner < 1)
    return py_fail(py_state_of_object(self), PY_INPUT_ERROR, "runs and inner must be at least 1");
  py_in q;
  if (py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){m->r}) < 0) return NULL;
  const size_t r = (size_t)m->r;
  void *work = rf_alloc(rf_reduced_work_bytes(m), 1);
  double *force = rf_alloc(r, sizeof *force), *k = rf_alloc(r * r, sizeof *k);
  if (!work || !force || !k) {
    PyErr_NoMemory();
    goto done;
  }
  out = py_new_f64(1, (npy_intp[]){runs});
  if (!out) goto done;
  double *seconds = py_f64(out);
  Py_BEGIN_ALLOW_THREADS
  for (int i = 0; i < runs; ++i) {
    const double start = py_now_s();
    for (int j = 0; j < inner; ++j)
      rf_reduced_evaluate_rt(m, q.data, work, NULL, force, with_stiffness ? k : NULL, m->r);
    seconds[i] = (py_now_s() - start) / inner;
  }
  Py_END_ALLOW_THREADS
done:
  rf_free(work);
  rf_free(force);
  rf_free(k);
  py_in_release(&q);
  return out;
}

PY_GETTER(get_r, self, rf_reduced, m, PyLong_FromLong(m->r))
PY_GETTER(get_basis, self, rf_reduced, m,
          py_view_f64(self, m->basis, 3, (npy_intp[]){m->r, m->n_nodes, 3}))
PY_GETTER(get_mass, self, rf_reduced, m, py_view_f64(self, m->mass, 2, (npy_intp[]){m->r, m->r}))
static PyObject *get_coefficients(PyObject *self, void *unused) {
  (void)unused;
  const rf_polynomial *p = self_model(self)->polynomial;
  if (!p) Py_RETURN_NONE;
  return py_view_f64(self, p->coefficient, 1, (npy_intp[]){(npy_intp)p->count});
}
static PyObject *get_cubature(PyObject *self, void *unused) {
  (void)unused;
  const rf_cubature *c = self_model(self)->cubature;
  if (!c) Py_RETURN_NONE;
  const npy_intp p = c->n_points, r = c->r;
  PyObject *linear =
      c->linear ? py_view_f64(self, c->linear, 2, (npy_intp[]){r, r}) : Py_NewRef(Py_None);
  return Py_BuildValue("NNNN", py_view_f64(self, c->gradient, 3, (npy_intp[]){p, 9, r}),
                       py_view_f64(self, c->weight, 1, &p), py_view_i32(self, c->material, 1, &p),
                       linear);
}
PY_GETTER(get_simd, self, rf_reduced, m, PyLong_FromLong(rf_reduced_simd(m)))
PY_GETTER(get_stream_bytes, self, rf_reduced, m,
          PyLong_FromLongLong((int64_t)sizeof(double) *
                              (m->polynomial ? m->polynomial->stream_count
                                             : (int64_t)rf_reduced_step_numbers(m))))

static int source_in(py_state *state, PyObject *system, PyObject *strain_rate, py_source *s) {
  const rf_reduced *model = py_reduced_get(state, system);
  if (!model || py_damping_in(state, strain_rate, &s->damping.strain_rate) < 0) return -1;
  s->model = model, s->n = model->r, s->ndim = 1;
  return 0;
}

const py_source_kind py_reduced_source = {PY_REDUCED, source_in};

static PyMethodDef methods[] = {
    {"internal_force", internal_force, METH_O, force_doc},
    {"stiffness", stiffness, METH_VARARGS, stiffness_doc},
    {"strain", strain, METH_O, strain_doc},
    {"strain_energy", strain_energy, METH_O, energy_doc},
    {"farthest", farthest, METH_O, farthest_doc},
    {"displacement", displacement, METH_O, displacement_doc},
    {"project", project, METH_O, project_doc},
    {"solve_static", py_reduced_solve_static, METH_VARARGS, py_reduced_static_doc},
    {"truncate", truncate_to, METH_VARARGS, truncate_doc},
    {"time_evaluate", time_evaluate, METH_VARARGS, time_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"r", get_r, NULL, "Number of reduced coordinates.", NULL},
    {"basis", get_basis, NULL, "U (r, n, 3), read-only view.", NULL},
    {"mass", get_mass, NULL, "Reduced mass (r, r), read-only view.", NULL},
    {"coefficients", get_coefficients, NULL,
     "Energy coefficients t_ijkl, 0 <= i <= j <= k <= l <= r, lexicographic; read-only view; None\n"
     "with a cubature.",
     NULL},
    {"cubature", get_cubature, NULL,
     "(gradients (p, 9, r), weights (p,), materials of points (p,), linear stiffness (r, r) or\n"
     "None), read-only views; None with a polynomial.",
     NULL},
    {"simd", get_simd, NULL, "Kernels in use: 1 plain, 2 AVX2, 3 AVX-512.", NULL},
    {"stream_bytes", get_stream_bytes, NULL, "Bytes of coefficients one evaluation reads.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(reduced_doc,
             "Reduced(basis, mass, coefficients, simd=0, /)\n--\n\n"
             "Sealed reduced model: basis (r, n, 3), reduced mass (r, r), energy coefficients.");

static PyType_Spec spec =
    PY_SPEC("Reduced", py_object, {Py_tp_new, reduced_new}, {Py_tp_dealloc, py_object_dealloc},
            {Py_tp_methods, methods}, {Py_tp_getset, getters}, {Py_tp_doc, (void *)reduced_doc});

static PyMethodDef functions[] = {
    {"reduce", reduce, METH_VARARGS, reduce_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_reduced_room = {.types = {{PY_REDUCED, &spec}}, .functions = functions};
