// Orderings for sparse Cholesky factorization: rf.ordering, and the method for all factors.
#include <string.h>

#include "base/alloc.h"
#include "linalg/ordering.h"
#include "pyext/py_matrix.h"
#include "pyext/py_solid.h"

static const char *const NAMES[RF_ORDER_COUNT] = {[RF_ORDER_AUTO] = "auto",
                                                  [RF_ORDER_DISSECTION] = "dissection",
                                                  [RF_ORDER_METIS] = "metis",
                                                  [RF_ORDER_AMD] = "amd",
                                                  [RF_ORDER_MINIMUM_DEGREE] = "minimum-degree",
                                                  [RF_ORDER_NESTED] = "nested",
                                                  [RF_ORDER_SIMPLE] = "simple"};

// Returns the method of a name among the first `count`; -1: InputError is set.
static int method_of(py_state *state, const char *name, int count) {
  for (int m = 0; m < count; ++m)
    if (strcmp(name, NAMES[m]) == 0) return m;
  PyObject *known = PyUnicode_FromString(NAMES[0]);
  for (int m = 1; known && m < count; ++m)
    Py_SETREF(known, PyUnicode_FromFormat("%U, %s", known, NAMES[m]));
  if (known) {
    const char *list = PyUnicode_AsUTF8(known);
    if (list) py_fail(state, PY_INPUT_ERROR, "method must be one of %s; got \"%s\"", list, name);
  }
  Py_XDECREF(known);
  return -1;
}

// Orders and counts without the GIL; the result is (method, permutation, nonzeros, fill, flops,
// seconds).
static PyObject *order(py_state *state, const rf_csc *lower, const rf_places *places,
                       const rf_dissection_elements *elements, int method) {
  const npy_intp n = lower->cols;
  rf_ordering_method taken = (rf_ordering_method)method;
  rf_ordering_counts counts;
  rf_error err = {0};
  PyObject *permutation = py_new_i32(1, &n);
  if (!permutation) return NULL;
  int32_t *to = py_i32(permutation);
  rf_status st;
  double seconds;
  Py_BEGIN_ALLOW_THREADS
  seconds = py_now_s();
  st = rf_ordering(lower, places, elements, &taken, to, &err);
  seconds = py_now_s() - seconds;
  if (st >= 0) st = rf_ordering_count(lower, to, &counts, &err);
  Py_END_ALLOW_THREADS
  if (st >= 0)
    return Py_BuildValue("sNdddd", NAMES[taken], permutation, counts.nonzeros, counts.fill,
                         counts.flops, seconds);
  Py_DECREF(permutation);
  return py_raise(state, st, &err);
}

PyDoc_STRVAR(
    solid_doc,
    "ordering_of_solid($module, solid, method, /)\n--\n\n"
    "(method, permutation, nonzeros, fill, flops, seconds) of the stiffness over free nodes.");
static PyObject *ordering_of_solid(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid_obj, *result = NULL;
  const char *name;
  if (!PyArg_ParseTuple(args, "Os:ordering_of_solid", &solid_obj, &name)) return NULL;
  const rf_solid *solid = py_solid_get(state, solid_obj);
  const int method = solid ? method_of(state, name, RF_ORDER_COUNT) : -1;
  if (method < 0) return NULL;
  const rf_mesh *mesh = solid->mesh;
  const rf_dissection_elements elements = {.count = mesh->n_elements,
                                           .corners = (int32_t)mesh->type,
                                           .node = mesh->elements,
                                           .unknown = solid->free_of};
  rf_csc lower = {0};
  rf_places places = {.width = 3};
  rf_error err = {0};
  rf_status st;
  double *point = NULL;
  Py_BEGIN_ALLOW_THREADS
  st = rf_solid_free_pattern(solid, &lower, &err);
  if (st >= 0) st = rf_solid_free_points(solid, &point, &err);
  Py_END_ALLOW_THREADS
  places.point = method == RF_ORDER_SIMPLE ? mesh->nodes : point;
  if (st < 0)
    py_raise(state, st, &err);
  else
    result = order(state, &lower, &places, &elements, method);
  rf_csc_free(&lower);
  rf_free(point);
  return result;
}

PyDoc_STRVAR(
    matrix_doc,
    "ordering_of_matrix($module, matrix, points, method, /)\n--\n\n"
    "(method, permutation, nonzeros, fill, flops, seconds) of a symmetric matrix, a tuple\n"
    "(data, indices, indptr) of its lower triangle; points: None, or places of nodes with one or\n"
    "three unknowns each.");
static PyObject *ordering_of_matrix(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *matrix_obj, *points, *result = NULL;
  const char *name;
  py_matrix matrix = {0};
  py_places places = {0};
  if (!PyArg_ParseTuple(args, "OOs:ordering_of_matrix", &matrix_obj, &points, &name)) return NULL;
  const int method = method_of(state, name, RF_ORDER_COUNT);
  if (method >= 0 && py_in_matrix(state, &matrix, matrix_obj, "matrix") >= 0 &&
      py_in_places(state, &places, points, matrix.view.cols) >= 0)
    result = order(state, &matrix.view, places.used, NULL, method);
  py_matrix_release(&matrix);
  py_in_release(&places.point);
  return result;
}

PyDoc_STRVAR(
    count_doc,
    "ordering_counts($module, matrix, permutation, /)\n--\n\n"
    "(nonzeros, fill, flops) of the factor of a matrix, as for `ordering_of_matrix`, with\n"
    "its unknowns eliminated in the order of a permutation (n,).");
static PyObject *ordering_counts(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *matrix_obj, *given, *result = NULL;
  py_matrix matrix = {0};
  py_in permutation = {0};
  rf_ordering_counts counts;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "OO:ordering_counts", &matrix_obj, &given)) return NULL;
  if (py_in_matrix(state, &matrix, matrix_obj, "matrix") < 0) goto done;
  const npy_intp n = matrix.view.cols;
  if (py_in_i32(&permutation, given, "permutation", 1, &n, 0, (int32_t)n - 1) < 0) goto done;
  rf_status st;
  PY_WITHOUT_GIL(st = rf_ordering_count(&matrix.view, permutation.data, &counts, &err));
  if (st < 0)
    py_raise(state, st, &err);
  else
    result = Py_BuildValue("ddd", counts.nonzeros, counts.fill, counts.flops);
done:
  py_matrix_release(&matrix);
  py_in_release(&permutation);
  return result;
}

PyDoc_STRVAR(use_doc,
             "use_ordering($module, method, /)\n--\n\n"
             "Set the ordering of factors: \"auto\", \"dissection\", \"metis\" or \"amd\".");
static PyObject *use_ordering(PyObject *module, PyObject *args) {
  const char *name;
  if (!PyArg_ParseTuple(args, "s:use_ordering", &name)) return NULL;
  const int method = method_of(py_state_of_module(module), name, RF_ORDER_AMD + 1);
  if (method < 0) return NULL;
  rf_ordering_use((rf_ordering_method)method);
  Py_RETURN_NONE;
}

PyDoc_STRVAR(in_use_doc,
             "ordering_in_use($module, /)\n--\n\n"
             "Name of the ordering of factors.");
static PyObject *ordering_in_use(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return PyUnicode_FromString(NAMES[rf_ordering_in_use()]);
}

static PyMethodDef functions[] = {
    {"ordering_of_solid", ordering_of_solid, METH_VARARGS, solid_doc},
    {"ordering_of_matrix", ordering_of_matrix, METH_VARARGS, matrix_doc},
    {"ordering_counts", ordering_counts, METH_VARARGS, count_doc},
    {"use_ordering", use_ordering, METH_VARARGS, use_doc},
    {"ordering_in_use", ordering_in_use, METH_NOARGS, in_use_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_ordering_room = {.functions = functions};
