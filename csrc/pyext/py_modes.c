// Linear modes and modal derivatives, of solids and of plain matrices.
#include "pyext/py_modes.h"

#include <string.h>

#include "base/alloc.h"
#include "linalg/cholesky.h"
#include "modes/modes.h"
#include "pyext/py_fields.h"
#include "pyext/py_matrix.h"
#include "pyext/py_object.h"
#include "pyext/py_solid.h"

int py_modes_arrays(py_state *state, const rf_solid *solid, int rigid, int k, PyObject **values,
                    PyObject **frequencies) {
  // before allocating: k is not checked yet
  const int most = rf_modes_most(solid);
  if (k < 1 || k > most) {
    py_fail(state, PY_INPUT_ERROR,
            "k must be between 1 and %d (free degrees of freedom less one), got %d", most, k);
    return -1;
  }
  *values = py_new_f64(1, (npy_intp[]){rigid + k});
  *frequencies = py_new_f64(1, (npy_intp[]){rigid + k});
  return *values && *frequencies ? 0 : -1;
}

PyDoc_STRVAR(
    linear_modes_doc,
    "linear_modes($module, solid, k, rigid, progress, threads, /)\n--\n\n"
    "Tuple of eigenvalues (m,), frequencies (m,) and shapes (m, n, 3); m is k, or k + 6 for\n"
    "a free solid with `rigid`: its rigid motions come first.");
static PyObject *linear_modes(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid_obj = NULL, *callable = NULL;
  PyObject *values = NULL, *frequencies = NULL, *shapes = NULL, *result = NULL;
  int k = 0, threads = 0, rigid = 0;
  py_run r;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OipOi:linear_modes", &solid_obj, &k, &rigid, &callable, &threads))
    return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &r, callable, threads) < 0) return NULL;
  rigid = rigid && solid->n_fixed == 0 ? RF_RIGID : 0;
  if (py_modes_arrays(state, solid, rigid, k, &values, &frequencies) < 0) goto done;
  shapes = py_new_f64(3, (npy_intp[]){rigid + k, solid->mesh->n_nodes, 3});
  if (!shapes) goto done;
  double *value = py_f64(values), *frequency = py_f64(frequencies), *shape = py_f64(shapes);
  const size_t field = 3 * (size_t)solid->n_free;  // expanded at the end
  rf_modes_solid *modes = NULL;
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_modes_solid_create(solid, &r.run, &modes, &err);
  if (st >= 0 && rigid > 0)
    memcpy(shape, rf_modes_solid_rigid(modes), field * (size_t)rigid * sizeof *shape);
  if (st >= 0)
    st = rf_modes_linear(rf_modes_solid_system(modes), &r.run, k, value + rigid,
                         shape + field * (size_t)rigid, &err);
  if (st >= 0) st = rf_modes_expand(solid, rigid + k, shape, &err);
  rf_modes_solid_free(modes);
  Py_END_ALLOW_THREADS
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  rf_modes_frequencies(rigid + k, value, frequency);
  result = PyTuple_Pack(3, values, frequencies, shapes);
done:
  PY_XDECREF(values, frequencies, shapes);
  return result;
}

PyDoc_STRVAR(
    modal_derivatives_doc,
    "modal_derivatives($module, solid, shapes, progress, threads, /)\n--\n\n"
    "Derivatives of shapes (k, n, 3), row by row: (k(k+1)/2, n, 3), i <= j, of a solid with\n"
    "fixed nodes; (k*k, n, 3) of a free one.");
static PyObject *modal_derivatives(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *fields, *progress;
  int threads;
  py_fields shapes;
  if (!PyArg_ParseTuple(args, "OOOi:modal_derivatives", &solid, &fields, &progress, &threads) ||
      py_fields_in(state, &shapes, solid, fields, "shapes", progress, threads) < 0)
    return NULL;
  const npy_intp n = shapes.solid->mesh->n_nodes;
  PyObject *out = NULL;
  rf_error err = {0};
  rf_status st = RF_OK;
  if (shapes.count < 1 || shapes.count > 3 * n)
    py_fail(state, PY_INPUT_ERROR, "shapes must hold 1 to %zd modes, got %d", 3 * n,
            (int)shapes.count);
  else
    out = py_new_f64(
        3, (npy_intp[]){(npy_intp)rf_modes_solid_pairs(shapes.solid, shapes.count), n, 3});
  if (out) {
    double *to = py_f64(out);
    PY_WITHOUT_GIL(st = rf_modes_solid_derivatives(shapes.solid, &shapes.run.run, shapes.count,
                                                   shapes.data, to, &err));
  }
  py_fields_release(&shapes);
  return py_result(state, st, &err, out);
}

PyDoc_STRVAR(matrix_modes_doc,
             "matrix_modes($module, stiffness, mass, k, settings, progress, threads, /)\n--\n\n"
             "Modes of two symmetric matrices, each a tuple (data, indices, indptr) of its lower\n"
             "triangle; settings (subspace, max_restarts, seed), 0 for the defaults. Tuple of\n"
             "eigenvalues (k,), vectors (k, n) and the report (solves, restarts).");
static PyObject *matrix_modes(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *stiffness_obj = NULL, *mass_obj = NULL, *callable = NULL;
  PyObject *values = NULL, *vectors = NULL, *result = NULL;
  rf_eigen_settings set = {0};
  rf_eigen_report report = {0};
  int threads = 0;
  unsigned long long seed = 0;
  py_matrix stiffness = {0}, mass = {0};
  py_run r;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OOi(iiK)Oi:matrix_modes", &stiffness_obj, &mass_obj, &set.k,
                        &set.subspace, &set.max_restarts, &seed, &callable, &threads))
    return NULL;
  set.seed = seed;
  if (py_run_init(state, &r, callable, threads) < 0) return NULL;
  if (py_in_matrix(state, &stiffness, stiffness_obj, "stiffness") < 0) goto done;
  if (py_in_matrix(state, &mass, mass_obj, "mass") < 0) goto done;
  const int32_t n = stiffness.view.cols;
  if (set.k < 1 || set.k >= n) {
    py_fail(state, PY_INPUT_ERROR, "k must be between 1 and %d (unknowns less one), got %d", n - 1,
            set.k);
    goto done;
  }
  values = py_new_f64(1, (npy_intp[]){set.k});
  vectors = py_new_f64(2, (npy_intp[]){set.k, n});
  if (!values || !vectors) goto done;
  double *value = py_f64(values), *vector = py_f64(vectors);
  rf_modes_matrices *matrices = NULL;
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_modes_matrices_create(&stiffness.view, &mass.view, &r.run, &matrices, &err);
  if (st >= 0)
    st = rf_eigen_smallest(&rf_modes_matrices_system(matrices)->operators, &set, &r.run, value,
                           vector, &report, &err);
  rf_modes_matrices_free(matrices);
  Py_END_ALLOW_THREADS
  if (st < 0)
    py_raise(state, st, &err);
  else
    result = Py_BuildValue("OO(ii)", values, vectors, report.solves, report.restarts);
done:
  py_matrix_release(&stiffness);
  py_matrix_release(&mass);
  PY_XDECREF(values, vectors);
  return result;
}

static rf_status factor_and_solve(const rf_csc *lower, const rf_places *places, const rf_run *run,
                                  int runs, int columns, const double *b, double *x,
                                  double *seconds, rf_error *err) {
  rf_status st = RF_OK;
  rf_cholesky *factor = NULL;
  RF_TRY(rf_cholesky_create(lower, places, &factor, err));
  for (int i = 0; i < runs; ++i) {
    const double start = py_now_s();
    RF_TRY(rf_cholesky_factorize(factor, run, lower, NULL, err));
    const double middle = py_now_s();
    RF_TRY(rf_cholesky_solve(factor, run, columns, b, x, err));
    seconds[2 * i] = middle - start;
    seconds[2 * i + 1] = py_now_s() - middle;
  }
done:
  rf_cholesky_free(factor);
  return st;
}

PyDoc_STRVAR(factor_solve_doc,
             "factor_solve($module, matrix, b, runs, threads, points=None, /)\n--\n\n"
             "Solutions x (k, n) of A x = b, b (k, n), by Cholesky's method, A a tuple (data,\n"
             "indices, indptr) of its lower triangle; and seconds (runs, 2) of the numeric\n"
             "factorizations and of the solves.  points: places of nodes with one or three\n"
             "unknowns each.");
static PyObject *factor_solve(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *matrix_obj, *b_obj, *points = NULL, *x = NULL, *seconds = NULL, *result = NULL;
  int runs, threads;
  py_matrix matrix = {0};
  py_places places = {0};
  py_in b = {0};
  py_run r;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OOii|O:factor_solve", &matrix_obj, &b_obj, &runs, &threads, &points))
    return NULL;
  if (runs < 1) return py_fail(state, PY_INPUT_ERROR, "runs must be positive, got %d", runs);
  if (py_run_init(state, &r, NULL, threads) < 0) return NULL;
  if (py_in_matrix(state, &matrix, matrix_obj, "matrix") < 0) goto done;
  const int32_t n = matrix.view.cols;
  if (py_in_f64(&b, b_obj, "b", 2, (npy_intp[]){PY_ANY, n}) < 0 ||
      py_in_places(state, &places, points, n) < 0)
    goto done;
  const int columns = (int)b.shape[0];
  x = py_new_f64(2, (npy_intp[]){columns, n});
  seconds = py_new_f64(2, (npy_intp[]){runs, 2});
  if (!x || !seconds) goto done;
  double *to = py_f64(x), *time = py_f64(seconds);
  rf_status st;
  PY_WITHOUT_GIL(st = factor_and_solve(&matrix.view, places.used, &r.run, runs, columns, b.data, to,
                                       time, &err));
  if (st < 0)
    py_raise(state, st, &err);
  else
    result = PyTuple_Pack(2, x, seconds);
done:
  py_matrix_release(&matrix);
  PY_IN_RELEASE(&places.point, &b);
  PY_XDECREF(x, seconds);
  return result;
}

// The factored stiffness of a solid with fixed nodes, kept for several blocks of pairs.
typedef struct factored {
  const rf_solid *solid;
  rf_modes_solid *modes;
} factored;

static void release_factored(void *held) {
  factored *f = held;
  rf_modes_solid_free(f->modes);
  rf_free(f);
}

static PyObject *derivatives_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *solid_obj;
  int threads;
  py_run run;
  rf_error err = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "Oi:Derivatives", &solid_obj, &threads)) return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  if (!solid || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  factored *f = rf_alloc(1, sizeof *f);
  if (!f) return PyErr_NoMemory();
  *f = (factored){.solid = solid};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_modes_solid_create(solid, &run.run, &f->modes, &err));
  if (st >= 0) return py_object_new(type, f, release_factored, solid_obj);
  rf_free(f);
  return py_raise(state, st, &err);
}

PyDoc_STRVAR(pairs_doc,
             "pairs($self, shapes, begin, end, threads, /)\n--\n\n"
             "Derivatives (end - begin, n, 3) of those pairs of shapes (k, n, 3), in blocks of\n"
             "`DERIVATIVES_BLOCK`.");
static PyObject *derivatives_pairs(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  const factored *f = py_held(self);
  PyObject *shapes_obj, *out = NULL;
  long long begin, end;
  int threads;
  py_run run;
  py_in shapes = {0};
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OLLi:pairs", &shapes_obj, &begin, &end, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0 ||
      py_in_motions(state, &shapes, shapes_obj, "shapes", f->solid) < 0)
    return NULL;
  const npy_intp k = shapes.shape[0];
  if (k < 1 || k > 3 * (npy_intp)f->solid->mesh->n_nodes || begin < 0 || end <= begin ||
      end > rf_modes_pairs((int32_t)k)) {
    py_fail(state, PY_INPUT_ERROR, "%zd shapes have no pairs %lld to %lld", (Py_ssize_t)k, begin,
            end);
    goto done;
  }
  out = py_new_f64(3, (npy_intp[]){(npy_intp)(end - begin), f->solid->mesh->n_nodes, 3});
  if (!out) goto done;
  double *to = py_f64(out);
  rf_status st;
  PY_WITHOUT_GIL(st = rf_modes_held_derivatives(f->modes, f->solid, &run.run, (int32_t)k,
                                                shapes.data, begin, end, to, &err));
  out = py_result(state, st, &err, out);
done:
  py_in_release(&shapes);
  return out;
}

static PyMethodDef derivatives_methods[] = {
    {"pairs", derivatives_pairs, METH_VARARGS, pairs_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(derivatives_doc,
             "Derivatives(solid, threads, /)\n--\n\n"
             "Modal derivatives of a solid with fixed nodes, whose stiffness is factored once.");

static PyType_Spec derivatives_spec = PY_SPEC_KEEPING(
    "Derivatives", py_object, {Py_tp_new, derivatives_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, derivatives_methods}, {Py_tp_doc, (void *)derivatives_doc});

static const py_constant constants[] = {{"DERIVATIVES_BLOCK", RF_CHOLESKY_BLOCK, false},
                                        {NULL, 0.0, false}};

static PyMethodDef functions[] = {
    {"linear_modes", linear_modes, METH_VARARGS, linear_modes_doc},
    {"modal_derivatives", modal_derivatives, METH_VARARGS, modal_derivatives_doc},
    {"matrix_modes", matrix_modes, METH_VARARGS, matrix_modes_doc},
    {"factor_solve", factor_solve, METH_VARARGS, factor_solve_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_modes_room = {
    .types = {{PY_DERIVATIVES, &derivatives_spec}}, .functions = functions, .constants = constants};
