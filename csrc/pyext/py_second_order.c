// The type _core.SecondOrder: a system known by two matrices, with its forces and their second
// derivative as Python callables.
#include <string.h>

#include "base/alloc.h"
#include "basis/basis.h"
#include "pyext/py_matrix.h"
#include "pyext/py_object.h"
#include "pyext/py_second_order.h"
#include "pyext/py_source.h"

typedef struct py_second_order {
  py_object object;      // holds rf_modes_matrices, which borrow the mass; keeps the callables
  rf_matrices matrices;  // own memory
  rf_force_law law;
  PyObject *force, *tangent, *energy;  // borrowed; they return float64 arrays, see _core.pyi
} py_second_order;

static const rf_modes_system *system_of(PyObject *self) {
  return rf_modes_matrices_system(py_held(self));
}

const rf_matrices *py_matrices_get(py_state *state, PyObject *object) {
  return py_require_type(state, object, PY_SECOND_ORDER, "system", "SecondOrderSystem") < 0
             ? NULL
             : &((py_second_order *)object)->matrices;
}

static void release(void *matrices) { rf_modes_matrices_free(matrices); }

static rf_status require_definite_mass(const rf_csc *mass, const rf_run *run, rf_error *err) {
  rf_cholesky *factor = NULL;
  rf_status st = rf_cholesky_create(mass, NULL, &factor, err);
  if (st >= 0) st = rf_cholesky_factorize(factor, run, mass, NULL, err);
  if (st == RF_ERR_SINGULAR) st = rf_fail(err, st, "the mass is not positive definite");
  rf_cholesky_free(factor);
  return st;
}

// Creates what modes need, which factors the stiffness; the mass is definite.
static rf_status create_matrices(const rf_matrices *own, const rf_run *run, rf_modes_matrices **out,
                                 rf_error *err) {
  const rf_status st = rf_modes_matrices_create(&own->stiffness, &own->mass, run, out, err);
  if (st != RF_ERR_SINGULAR) return st;
  return rf_fail(err, st,
                 "the stiffness is not positive definite: its diagonal must be positive, and rigid "
                 "motions held");
}

// With the GIL: out = function(x), 0, or -1 with an exception set.
static int ask_law(py_state *state, PyObject *function, npy_intp n, const double *x, npy_intp count,
                   double *out) {
  PyObject *at = py_new_f64(1, &n), *answer = NULL;
  int result = -1;
  if (at) {
    memcpy(py_f64(at), x, (size_t)n * sizeof *x);
    PyArray_CLEARFLAGS((PyArrayObject *)at, NPY_ARRAY_WRITEABLE);
    answer = PyObject_CallOneArg(function, at);
  }
  PyArrayObject *array = answer && PyArray_Check(answer) ? (PyArrayObject *)answer : NULL;
  const bool fits = array && PyArray_TYPE(array) == NPY_DOUBLE && PyArray_IS_C_CONTIGUOUS(array) &&
                    PyArray_ISNOTSWAPPED(array) && PyArray_SIZE(array) == count;
  if (fits) {
    memcpy(out, PyArray_DATA(array), (size_t)count * sizeof *out);
    result = 0;
  } else if (answer) {
    py_fail(state, PY_INTERNAL_ERROR, "a function of the system must return %zd doubles", count);
  }
  PY_XDECREF(at, answer);
  return result;
}

// Without the GIL.  An exception stays pending in this thread; py_raise keeps it.
static rf_status call_law(const py_second_order *self, PyObject *function, const double *x,
                          int32_t count, double *out, rf_error *err) {
  const PyGILState_STATE gil = PyGILState_Ensure();
  py_state *state = py_state_of_object((PyObject *)self);
  const int failed = ask_law(state, function, self->matrices.mass.cols, x, count, out) < 0;
  PyGILState_Release(gil);
  return failed ? rf_fail(err, RF_ERR_INTERRUPTED, "a function of the system failed") : RF_OK;
}

static rf_status law_force(void *of, const double *x, double *force, rf_error *err) {
  const py_second_order *self = of;
  return call_law(self, self->force, x, self->matrices.mass.cols, force, err);
}

static rf_status law_tangent(void *of, const double *x, double *values, rf_error *err) {
  const py_second_order *self = of;
  const rf_csc *pattern = &self->matrices.stiffness;
  return call_law(self, self->tangent, x, pattern->colptr[pattern->cols], values, err);
}

static rf_status law_energy(void *of, const double *x, double *energy, rf_error *err) {
  const py_second_order *self = of;
  return call_law(self, self->energy, x, 1, energy, err);
}

// `functions`: (force, tangent, energy), each None if there is none; kept by the object.
static int take_law(py_second_order *self, PyObject *functions) {
  PyObject *force, *tangent, *energy;
  if (!PyArg_ParseTuple(functions, "OOO:law", &force, &tangent, &energy)) return -1;
  if (force == Py_None) return 0;
  self->force = force, self->tangent = tangent, self->energy = energy;
  self->law = (rf_force_law){.force = law_force,
                             .tangent = tangent == Py_None ? NULL : law_tangent,
                             .energy = energy == Py_None ? NULL : law_energy};
  self->matrices.law = &self->law;
  self->matrices.law_self = self;
  return 0;
}

static PyObject *second_order_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *mass_obj, *stiffness_obj, *damping_obj, *functions, *result = NULL;
  py_matrix mass = {0}, stiffness = {0}, damping = {0};
  rf_modes_matrices *matrices = NULL;
  rf_error err = {0};
  int threads;
  py_run run;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOO!i:SecondOrder", &mass_obj, &stiffness_obj, &damping_obj,
                        &PyTuple_Type, &functions, &threads) ||
      py_run_init(state, &run, Py_None, threads) < 0)
    return NULL;
  if (py_in_matrix(state, &mass, mass_obj, "mass") < 0 ||
      py_in_matrix(state, &stiffness, stiffness_obj, "stiffness") < 0 ||
      (damping_obj != Py_None && py_in_matrix(state, &damping, damping_obj, "damping_matrix") < 0))
    goto done;
  if (damping.view.cols && damping.view.cols != mass.view.cols) {
    py_fail(state, PY_INPUT_ERROR, "mass has %d columns, but damping_matrix has %d", mass.view.cols,
            damping.view.cols);
    goto done;
  }
  result = py_object_new(type, NULL, release, functions);
  if (!result) goto done;
  py_second_order *self = (py_second_order *)result;
  if (take_law(self, functions) < 0) {
    Py_CLEAR(result);
    goto done;
  }
  rf_matrices *own = &self->matrices;
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_csc_copy(&mass.view, &own->mass, &err);
  if (st >= 0) st = rf_csc_copy(&stiffness.view, &own->stiffness, &err);
  if (st >= 0 && damping.view.cols) st = rf_csc_copy(&damping.view, &own->damping, &err);
  if (st >= 0) st = require_definite_mass(&own->mass, &run.run, &err);
  if (st >= 0) st = create_matrices(own, &run.run, &matrices, &err);
  Py_END_ALLOW_THREADS
  self->object.held = matrices;
  result = py_result(state, st, &err, result);
done:
  py_matrix_release(&mass);
  py_matrix_release(&stiffness);
  py_matrix_release(&damping);
  return result;
}

static void second_order_dealloc(PyObject *self) {
  rf_matrices own = ((py_second_order *)self)->matrices;
  py_object_dealloc(self);
  rf_csc_free(&own.mass);
  rf_csc_free(&own.stiffness);
  rf_csc_free(&own.damping);
}

// The system for the time of one call, with a Hessian that asks Python.
typedef struct call {
  const rf_modes_system *base;
  PyObject *hessian;  // borrowed
} call;

static rf_status call_mass(void *context, const rf_run *run, int32_t count, const double *x,
                           double *y, rf_error *err) {
  const rf_eigen_problem *op = &((const call *)context)->base->operators;
  return op->mass(op->context, run, count, x, y, err);
}

static rf_status call_solve(void *context, const rf_run *run, int32_t count, const double *x,
                            double *y, rf_error *err) {
  const rf_eigen_problem *op = &((const call *)context)->base->operators;
  return op->solve(op->context, run, count, x, y, err);
}

// with the GIL: one product, 0, or -1 with an exception set
static int ask_python(PyObject *hessian, npy_intp n, const double *a, const double *b,
                      double *out) {
  int result = -1;
  py_in product = {0};
  PyObject *first = py_new_f64(1, &n), *second = py_new_f64(1, &n), *answer = NULL;
  if (first && second) {
    memcpy(py_f64(first), a, (size_t)n * sizeof *a);
    memcpy(py_f64(second), b, (size_t)n * sizeof *b);
    answer = PyObject_CallFunctionObjArgs(hessian, first, second, NULL);
  }
  if (answer && py_in_f64(&product, answer, "hessian_product(a, b)", 1, &n) == 0) {
    memcpy(out, product.data, (size_t)n * sizeof *out);
    result = 0;
  }
  py_in_release(&product);
  PY_XDECREF(first, second, answer);
  return result;
}

static rf_status call_hessian(void *context, const rf_run *run, int32_t count,
                              const double *const *a, const double *const *b, double *const *out,
                              rf_error *err) {
  const call *c = context;
  for (int32_t p = 0; p < count; ++p) {
    const rf_status st = rf_run_progress(run, p, count, err);
    if (st < 0) return st;
    const PyGILState_STATE gil = PyGILState_Ensure();
    const int failed = ask_python(c->hessian, c->base->operators.n, a[p], b[p], out[p]) < 0;
    PyGILState_Release(gil);
    // the exception stays pending in this thread; py_raise keeps it
    if (failed) return rf_fail(err, RF_ERR_INTERRUPTED, "hessian_product failed");
  }
  return RF_OK;
}

static rf_modes_system system_for(call *c) {
  rf_modes_system system = *c->base;
  system.operators.mass = call_mass;
  system.operators.solve = call_solve;
  system.operators.context = c;
  system.hessian = call_hessian;
  return system;
}

// Checks that the system has k modes: 0, or -1 with an exception set.
static int check_k(PyObject *self, int k) {
  const int32_t n = system_of(self)->operators.n;
  if (k >= 1 && k < n) return 0;
  py_fail(py_state_of_object(self), PY_INPUT_ERROR,
          "k must be between 1 and %d (unknowns less one), got %d", (int)n - 1, k);
  return -1;
}

PyDoc_STRVAR(modes_doc,
             "modes($self, k, progress, threads, /)\n--\n\n"
             "Eigenvalues (k,), frequencies (k,) and shapes (k, n).");
static PyObject *modes(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *callable, *values = NULL, *frequencies = NULL, *shapes = NULL, *result = NULL;
  int k, threads;
  py_run run;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "iOi:modes", &k, &callable, &threads)) return NULL;
  if (py_run_init(state, &run, callable, threads) < 0 || check_k(self, k) < 0) return NULL;
  values = py_new_f64(1, (npy_intp[]){k});
  frequencies = py_new_f64(1, (npy_intp[]){k});
  shapes = py_new_f64(2, (npy_intp[]){k, system_of(self)->operators.n});
  if (!values || !frequencies || !shapes) goto done;
  double *value = py_f64(values), *shape = py_f64(shapes);
  rf_status st;
  PY_WITHOUT_GIL(st = rf_modes_linear(system_of(self), &run.run, k, value, shape, &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  rf_modes_frequencies(k, value, py_f64(frequencies));
  result = PyTuple_Pack(3, values, frequencies, shapes);
done:
  PY_XDECREF(values, frequencies, shapes);
  return result;
}

PyDoc_STRVAR(derivatives_doc,
             "derivatives($self, hessian, shapes, progress, threads, /)\n--\n\n"
             "Derivatives (k(k+1)/2, n) of shapes (k, n), i <= j row by row; hessian(a, b): (n,).");
static PyObject *derivatives(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  const npy_intp n = system_of(self)->operators.n;
  PyObject *hessian, *shapes_obj, *callable, *out = NULL;
  int threads;
  py_in shapes = {0};
  py_run run;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OOOi:derivatives", &hessian, &shapes_obj, &callable, &threads))
    return NULL;
  if (py_run_init(state, &run, callable, threads) < 0) return NULL;
  if (py_in_f64(&shapes, shapes_obj, "shapes", 2, (npy_intp[]){PY_ANY, n}) < 0) return NULL;
  if (shapes.shape[0] < 1 || shapes.shape[0] > n) {
    py_fail(state, PY_INPUT_ERROR, "shapes must hold 1 to %zd modes, got %zd", n, shapes.shape[0]);
    goto done;
  }
  const int32_t k = (int32_t)shapes.shape[0];
  out = py_new_f64(2, (npy_intp[]){(npy_intp)rf_modes_pairs(k), n});
  if (!out) goto done;
  double *to = py_f64(out);
  call c = {system_of(self), hessian};
  const rf_modes_system system = system_for(&c);
  rf_status st;
  PY_WITHOUT_GIL(st = rf_modes_derivatives(&system, &run.run, k, shapes.data, to, &err));
  out = py_result(state, st, &err, out);
done:
  py_in_release(&shapes);
  return out;
}

// fresh arrays: the first r of vectors (any, n), and the spectrum
static PyObject *basis_arrays(int32_t r, int32_t n, const double *vectors, int32_t n_spectrum,
                              const double *spectrum, PyObject *more) {
  PyObject *basis = py_new_f64(2, (npy_intp[]){r, n});
  PyObject *values = py_new_f64(1, (npy_intp[]){n_spectrum}), *result = NULL;
  if (basis && values) {
    memcpy(py_f64(basis), vectors, (size_t)r * (size_t)n * sizeof *vectors);
    memcpy(py_f64(values), spectrum, (size_t)n_spectrum * sizeof *spectrum);
    result = more ? PyTuple_Pack(3, basis, values, more) : PyTuple_Pack(2, basis, values);
  }
  PY_XDECREF(basis, values);
  return result;
}

// room for count vectors and their spectrum
static rf_status take_room(int64_t count, int32_t n, double **vectors, double **spectrum,
                           int32_t *n_spectrum, rf_error *err) {
  rf_status st = RF_OK;
  *n_spectrum = count < n ? (int32_t)count : n;
  RF_ALLOC(*vectors, (size_t)count * (size_t)n);
  RF_ALLOC(*spectrum, *n_spectrum);
done:
  return st;
}

PyDoc_STRVAR(mass_pca_doc,
             "mass_pca($self, vectors, weights, r, at_most, progress, threads, /)\n--\n\n"
             "Mass-orthonormal vectors (r, n) and all singular values of the weighted vectors\n"
             "(count, n); weights (count,) or None. With at_most, r is lowered to the rank.");
static PyObject *mass_pca(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  const rf_modes_system *system = system_of(self);
  const int32_t n = system->operators.n;
  PyObject *vectors_obj, *weights_obj, *callable, *result = NULL;
  int r, at_most, threads;
  int32_t n_spectrum = 0;
  py_in vectors = {0}, weights = {0};
  double *copy = NULL, *spectrum = NULL;
  py_run run;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OOipOi:mass_pca", &vectors_obj, &weights_obj, &r, &at_most,
                        &callable, &threads))
    return NULL;
  if (py_run_init(state, &run, callable, threads) < 0) return NULL;
  if (py_in_f64(&vectors, vectors_obj, "vectors", 2, (npy_intp[]){PY_ANY, n}) < 0) return NULL;
  if (weights_obj != Py_None &&
      py_in_f64(&weights, weights_obj, "weights", 1, &vectors.shape[0]) < 0)
    goto done;
  if (vectors.shape[0] < 1 || vectors.shape[0] > INT32_MAX / 2) {
    py_fail(state, PY_INPUT_ERROR, "vectors must hold 1 to %d vectors, got %zd", INT32_MAX / 2,
            vectors.shape[0]);
    goto done;
  }
  const int32_t count = (int32_t)vectors.shape[0];
  rf_status st = take_room(count, n, &copy, &spectrum, &n_spectrum, &err);
  if (st >= 0) {
    Py_BEGIN_ALLOW_THREADS
    memcpy(copy, vectors.data, (size_t)count * (size_t)n * sizeof *copy);
    st = rf_basis_system_pca(system, &((py_second_order *)self)->matrices.mass, &run.run, count,
                             weights.data, copy, at_most != 0, &r, spectrum, &err);
    Py_END_ALLOW_THREADS
  }
  result =
      st < 0 ? py_raise(state, st, &err) : basis_arrays(r, n, copy, n_spectrum, spectrum, NULL);
done:
  rf_free(copy);
  rf_free(spectrum);
  PY_IN_RELEASE(&vectors, &weights);
  return result;
}

PyDoc_STRVAR(basis_doc,
             "derivative_basis($self, hessian, k, r, at_most, progress, threads, /)\n--\n\n"
             "Vectors (r, n) of k modes and their derivatives, all singular values, and the\n"
             "frequencies (k,). With at_most, r is lowered to the rank.");
static PyObject *derivative_basis(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  const int32_t n = system_of(self)->operators.n;
  PyObject *hessian, *callable, *values = NULL, *result = NULL;
  int k, r, at_most, threads;
  int32_t n_spectrum = 0;
  double *vectors = NULL, *spectrum = NULL;
  py_run run;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OiipOi:derivative_basis", &hessian, &k, &r, &at_most, &callable,
                        &threads))
    return NULL;
  if (py_run_init(state, &run, callable, threads) < 0 || check_k(self, k) < 0) return NULL;
  values = py_new_f64(1, (npy_intp[]){k});
  if (!values) return NULL;
  const int64_t count = k + rf_modes_pairs(k);
  if (count > INT32_MAX / 2) {
    py_fail(state, PY_INPUT_ERROR, "k is %d, which gives too many derivatives", k);
    goto done;
  }
  double *value = py_f64(values);
  call c = {system_of(self), hessian};
  const rf_modes_system system = system_for(&c);
  rf_status st = take_room(count, n, &vectors, &spectrum, &n_spectrum, &err);
  if (st >= 0) {
    PY_WITHOUT_GIL(st = rf_basis_system_derivatives(
                       &system, &((py_second_order *)self)->matrices.mass, &run.run, k,
                       at_most != 0, &r, value, vectors, spectrum, &err));
  }
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  rf_modes_frequencies(k, value, value);
  result = basis_arrays(r, n, vectors, n_spectrum, spectrum, values);
done:
  rf_free(vectors);
  rf_free(spectrum);
  Py_XDECREF(values);
  return result;
}

static int source_in(py_state *state, PyObject *system, PyObject *strain_rate, py_source *s) {
  const rf_matrices *matrices = py_matrices_get(state, system);
  if (!matrices) return -1;
  if (strain_rate != Py_None) {
    py_fail(state, PY_INPUT_TYPE_ERROR, "strain_rate must be None: the system has matrices only");
    return -1;
  }
  s->model = matrices, s->n = matrices->mass.cols, s->ndim = 1;
  return 0;
}

const py_source_kind py_matrices_source = {PY_SECOND_ORDER, source_in};

static PyMethodDef second_order_methods[] = {
    {"modes", modes, METH_VARARGS, modes_doc},
    {"derivatives", derivatives, METH_VARARGS, derivatives_doc},
    {"mass_pca", mass_pca, METH_VARARGS, mass_pca_doc},
    {"derivative_basis", derivative_basis, METH_VARARGS, basis_doc},
    {0},
};

PyDoc_STRVAR(
    second_order_doc,
    "SecondOrder(mass, stiffness, damping, law, threads, /)\n--\n\n"
    "Immutable system of symmetric matrices, each a tuple (data, indices, indptr) of its\n"
    "lower triangle; damping may be None. law: functions of x that return C(x), the values of\n"
    "the lower triangle of dC/dx, and the energy (1,), each or None. The public face is\n"
    "reducedfem.SecondOrderSystem.");

static PyType_Spec spec =
    PY_SPEC_KEEPING("SecondOrder", py_second_order, {Py_tp_new, second_order_new},
                    {Py_tp_dealloc, second_order_dealloc}, {Py_tp_methods, second_order_methods},
                    {Py_tp_doc, (void *)second_order_doc});

const py_room py_second_order_room = {.types = {{PY_SECOND_ORDER, &spec}}};
