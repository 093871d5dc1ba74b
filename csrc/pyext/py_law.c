// Laws of materials: the list, parameters of solids, and evaluation at points.
#include "pyext/py_law.h"

#include <string.h>

#include "base/alloc.h"
#include "pyext/py_convert.h"

static const rf_law *law_named(py_state *state, const char *name) {
  const rf_law *law = rf_law_named(name);
  if (!law) py_fail(state, PY_INPUT_ERROR, "there is no law \"%s\"; see laws()", name);
  return law;
}

// Converts the parameters of a law.
static int parameters_in(const rf_law *law, PyObject *object, double *to) {
  const npy_intp count = rf_law_parameter_count(law);
  py_in in = {0};
  if (py_in_f64(&in, object, "parameters", 1, &count) < 0) return -1;
  memcpy(to, in.data, (size_t)count * sizeof *to);
  py_in_release(&in);
  return 0;
}

static int material_in(py_state *state, PyObject *object, rf_material *to) {
  const char *name;
  PyObject *parameters;
  if (!PyTuple_Check(object)) {
    py_fail(state, PY_INPUT_TYPE_ERROR,
            "materials must be tuples (law, parameters, density), got a %s",
            Py_TYPE(object)->tp_name);
    return -1;
  }
  if (!PyArg_ParseTuple(object, "sOd", &name, &parameters, &to->density)) return -1;
  to->law = law_named(state, name);
  return to->law ? parameters_in(to->law, parameters, to->parameter) : -1;
}

int py_materials_in(py_state *state, PyObject *object, rf_material **out, int32_t *count) {
  PyObject *list = PySequence_Fast(object, "materials must be a sequence");
  *out = NULL;
  if (!list) return -1;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  rf_material *materials = n > INT32_MAX ? NULL : rf_alloc((size_t)n, sizeof *materials);
  if (!materials) {
    rf_error err = {0};
    const rf_status st =
        rf_fail(&err, RF_ERR_MEMORY, "out of memory: %lld materials", (long long)n);
    py_raise(state, st, &err);
  }
  for (Py_ssize_t k = 0; k < n && materials; ++k)
    if (material_in(state, PySequence_Fast_GET_ITEM(list, k), &materials[k]) < 0) {
      rf_free(materials);
      materials = NULL;
    }
  Py_DECREF(list);
  *out = materials;
  *count = (int32_t)n;
  return materials ? 0 : -1;
}

static PyObject *parameter_names(const rf_law *law) {
  PyObject *names = PyDict_New();
  for (const rf_law_parameter *p = law->facts->parameters; names && p->name; ++p) {
    PyObject *count = PyLong_FromLong(p->count);
    if (!count || PyDict_SetItemString(names, p->name, count) < 0) Py_CLEAR(names);
    Py_XDECREF(count);
  }
  return names;
}

PyDoc_STRVAR(
    laws_doc,
    "laws($module, /)\n--\n\n"
    "The laws by name: `quadratic` in Green's strain, `defined_inverted`, and by name the\n"
    "counts of the numbers of its `parameters`.");
static PyObject *list_laws(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *all = PyDict_New();
  for (int k = 0; all && k < RF_LAW_COUNT; ++k) {
    const rf_law_facts *facts = rf_laws[k].facts;
    PyObject *names = parameter_names(&rf_laws[k]);
    PyObject *one =
        names ? Py_BuildValue("{s:N,s:N,s:N}", "quadratic", PyBool_FromLong(facts->quadratic_in_e),
                              "defined_inverted", PyBool_FromLong(facts->defined_inverted),
                              "parameters", names)
              : NULL;
    if (!one || PyDict_SetItemString(all, rf_laws[k].name, one) < 0) Py_CLEAR(all);
    Py_XDECREF(one);
  }
  return all;
}

// A law and parameters that it accepts; NULL with an exception set.
static const rf_law *law_in(py_state *state, const char *name, PyObject *object,
                            double *parameters) {
  rf_error err = {0};
  const rf_law *law = law_named(state, name);
  if (!law || parameters_in(law, object, parameters) < 0) return NULL;
  const rf_status st = law->facts->check(parameters, 0, &err);
  if (st >= 0) return law;
  py_raise(state, st, &err);
  return NULL;
}

PyDoc_STRVAR(rest_doc,
             "law_rest($module, law, parameters, /)\n--\n\n"
             "Stiffness at rest (6, 6), Voigt's notation.");
static PyObject *law_rest(PyObject *module, PyObject *args) {
  const char *name;
  PyObject *object;
  double parameters[RF_LAW_PARAMETERS];
  if (!PyArg_ParseTuple(args, "sO:law_rest", &name, &object)) return NULL;
  const rf_law *law = law_in(py_state_of_module(module), name, object, parameters);
  PyObject *out = law ? py_new_f64(2, (npy_intp[]){6, 6}) : NULL;
  if (out) rf_law_rest(law, parameters, py_f64(out));
  return out;
}

enum { MOST_LANES = 8 };

// Copies the numbers of `count` rows from row `first` on to lanes; unused lanes repeat the last.
static void to_lanes(const double *rows, npy_intp n, npy_intp first, int count, int lanes,
                     double *to) {
  for (int k = 0; k < count; ++k)
    for (int l = 0; l < lanes; ++l)
      to[k * lanes + l] = rows[count * (first + l < n ? first + l : n - 1) + k];
}

static void from_lanes(const double *from, npy_intp n, npy_intp first, int count, int lanes,
                       double *rows) {
  for (int l = 0; l < lanes && first + l < n; ++l)
    for (int k = 0; k < count; ++k) rows[count * (first + l) + k] = from[k * lanes + l];
}

static void spread(const double *parameters, int lanes, double *to) {
  for (int k = 0; k < RF_LAW_PARAMETERS; ++k)
    for (int l = 0; l < lanes; ++l) to[k * lanes + l] = parameters[k];
}

static int variant_in(py_state *state, int simd) {
  rf_error err = {0};
  const rf_status st = rf_simd_check((rf_simd)simd, &err);
  if (st < 0) py_raise(state, st, &err);
  return st < 0 ? -1 : 0;
}

// Makes the tangents A (9, 9, lanes) semidefinite.
static void make_definite(const rf_law *law, int simd, const double *G, double *A) {
  _Alignas(64) double copy[81 * MOST_LANES], C[81 * MOST_LANES];
  _Alignas(64) int64_t selected[MOST_LANES];
  const int count = 81 * rf_law_lanes((rf_simd)simd);
  memcpy(copy, A, (size_t)count * sizeof *A);
  if (!rf_law_definite[simd](law->facts->isotropic, G, copy, C, selected)) return;
  for (int k = 0; k < count; ++k) A[k] += C[k];
}

PyDoc_STRVAR(
    point_doc,
    "law_point($module, law, parameters, gradients, simd=0, definite=False, /)\n--\n\n"
    "(W (m,), P (m, 9), dP/dF (m, 9, 9)) at displacement gradients (m, 9), the last on request\n"
    "semidefinite; simd 0: by the body of one lane.");
static PyObject *law_point(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  const char *name;
  PyObject *object, *gradients, *result = NULL;
  int simd = RF_SIMD_BEST, definite = 0;
  double parameters[RF_LAW_PARAMETERS] = {0};
  _Alignas(64) double p[RF_LAW_PARAMETERS * MOST_LANES], G[9 * MOST_LANES], W[MOST_LANES],
      P[9 * MOST_LANES], A[81 * MOST_LANES];
  py_in in = {0};
  if (!PyArg_ParseTuple(args, "sOO|ip:law_point", &name, &object, &gradients, &simd, &definite))
    return NULL;
  const rf_law *law = law_in(state, name, object, parameters);
  if (!law || variant_in(state, simd) < 0 ||
      py_in_f64(&in, gradients, "gradients", 2, (npy_intp[]){PY_ANY, 9}) < 0)
    return NULL;
  const npy_intp n = in.shape[0];
  const int lanes = rf_law_lanes((rf_simd)simd);
  PyObject *energy = py_new_f64(1, &n), *stress = py_new_f64(2, (npy_intp[]){n, 9});
  PyObject *tangent = py_new_f64(3, (npy_intp[]){n, 9, 9});
  spread(parameters, lanes, p);
  for (npy_intp k = 0; energy && stress && tangent && k < n; k += lanes) {
    to_lanes(in.data, n, k, 9, lanes, G);
    law->point[simd](p, G, W, P, A);
    if (definite) make_definite(law, simd, G, A);
    from_lanes(W, n, k, 1, lanes, py_f64(energy));
    from_lanes(P, n, k, 9, lanes, py_f64(stress));
    from_lanes(A, n, k, 81, lanes, py_f64(tangent));
  }
  if (energy && stress && tangent) result = PyTuple_Pack(3, energy, stress, tangent);
  PY_XDECREF(energy, stress, tangent);
  py_in_release(&in);
  return result;
}

PyDoc_STRVAR(second_doc,
             "law_second($module, law, parameters, a, b, simd=0, /)\n--\n\n"
             "Second derivatives (m, 9) of P at rest along gradients a and b (m, 9).");
static PyObject *law_second(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  const char *name;
  PyObject *object, *a_obj, *b_obj, *out = NULL;
  int simd = RF_SIMD_BEST;
  double parameters[RF_LAW_PARAMETERS] = {0};
  _Alignas(64) double p[RF_LAW_PARAMETERS * MOST_LANES], A[9 * MOST_LANES], B[9 * MOST_LANES],
      P[9 * MOST_LANES];
  py_in a = {0}, b = {0};
  if (!PyArg_ParseTuple(args, "sOOO|i:law_second", &name, &object, &a_obj, &b_obj, &simd))
    return NULL;
  const rf_law *law = law_in(state, name, object, parameters);
  if (!law || variant_in(state, simd) < 0 ||
      py_in_f64(&a, a_obj, "a", 2, (npy_intp[]){PY_ANY, 9}) < 0)
    return NULL;
  const npy_intp n = a.shape[0];
  const int lanes = rf_law_lanes((rf_simd)simd);
  if (py_in_f64(&b, b_obj, "b", 2, a.shape) < 0) goto done;
  out = py_new_f64(2, a.shape);
  spread(parameters, lanes, p);
  for (npy_intp k = 0; out && k < n; k += lanes) {
    to_lanes(a.data, n, k, 9, lanes, A);
    to_lanes(b.data, n, k, 9, lanes, B);
    law->second[simd](p, A, B, P);
    from_lanes(P, n, k, 9, lanes, py_f64(out));
  }
done:
  PY_IN_RELEASE(&a, &b);
  return out;
}

static PyMethodDef functions[] = {
    {"laws", list_laws, METH_NOARGS, laws_doc},
    {"law_rest", law_rest, METH_VARARGS, rest_doc},
    {"law_point", law_point, METH_VARARGS, point_doc},
    {"law_second", law_second, METH_VARARGS, second_doc},
    {0},
};

const py_room py_law_room = {.functions = functions};
