// The type _core.ReducedParts: parts by material, from which reduced models are assembled.
#include <string.h>

#include "base/alloc.h"
#include "model/parts.h"
#include "pyext/py_fields.h"
#include "pyext/py_object.h"
#include "pyext/py_reduced.h"

static const rf_reduced_parts *self_parts(PyObject *self) { return py_held(self); }

static void release(void *parts) { rf_reduced_parts_free(parts); }

// Wraps C parts, taken over also on failure.
static PyObject *wrap(PyTypeObject *type, rf_reduced_parts *parts) {
  return py_object_new(type, parts, release, NULL);
}

static PyObject *parts_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *coefficient_obj, *general_obj, *volume_obj, *mass_obj, *result = NULL;
  py_in coefficient = {0}, general = {0}, volume = {0}, mass = {0};
  bool *flags = NULL;
  int simd = RF_SIMD_BEST;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOO|i:ReducedParts", &coefficient_obj, &general_obj, &volume_obj,
                        &mass_obj, &simd))
    return NULL;
  if (py_in_f64(&mass, mass_obj, "masses", 3, (npy_intp[]){PY_ANY, PY_ANY, PY_ANY}) < 0) goto done;
  const npy_intp m = mass.shape[0], r = mass.shape[1];
  if (m < 1 || m > INT32_MAX / 2 || r < 1 || r > RF_POLYNOMIAL_MAX_R || mass.shape[2] != r) {
    py_fail(state, PY_INPUT_ERROR,
            "masses must have shape (m, r, r), r up to %d, got (%zd, %zd, %zd)",
            RF_POLYNOMIAL_MAX_R, m, r, mass.shape[2]);
    goto done;
  }
  const npy_intp count = (npy_intp)rf_polynomial_count((int32_t)r);
  if (py_in_f64(&coefficient, coefficient_obj, "coefficients", 3, (npy_intp[]){m, 2, count}) < 0 ||
      py_in_i32(&general, general_obj, "general", 1, &m, 0, 1) < 0 ||
      py_in_f64(&volume, volume_obj, "volumes", 1, &m) < 0)
    goto done;
  flags = rf_alloc((size_t)m, sizeof *flags);
  if (!flags) {
    PyErr_NoMemory();
    goto done;
  }
  for (npy_intp i = 0; i < m; ++i) flags[i] = ((const int32_t *)general.data)[i] != 0;
  rf_reduced_parts *parts = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_reduced_parts_create((int32_t)r, (int32_t)m, coefficient.data, flags,
                                              volume.data, mass.data, (rf_simd)simd, &parts, &err));
  result = st < 0 ? py_raise(state, st, &err) : wrap(type, parts);
done:
  rf_free(flags);
  PY_IN_RELEASE(&coefficient, &general, &volume, &mass);
  return result;
}

PyDoc_STRVAR(take_apart_doc,
             "take_apart($module, solid, basis, progress, threads, simd=0, /)\n--\n\n"
             "(Reduced, ReducedParts) of a solid in the span of basis (r, n, 3).");
static PyObject *take_apart(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *vectors, *progress, *result = NULL;
  int threads, simd = RF_SIMD_BEST;
  py_fields basis;
  if (!PyArg_ParseTuple(args, "OOOi|i:take_apart", &solid, &vectors, &progress, &threads, &simd) ||
      py_basis_in(state, &basis, solid, vectors, progress, threads) < 0)
    return NULL;
  rf_reduced_parts *parts = NULL;
  rf_reduced *model = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_reduced_parts_build(basis.solid, &basis.run.run, basis.count, basis.data,
                                             (rf_simd)simd, &parts, &model, &err));
  py_fields_release(&basis);
  if (st < 0) return py_raise(state, st, &err);
  PyObject *whole = py_reduced_wrap(state, model), *apart = wrap(state->types[PY_PARTS], parts);
  if (whole && apart) result = PyTuple_Pack(2, whole, apart);
  PY_XDECREF(whole, apart);
  return result;
}

PyDoc_STRVAR(
    combine_doc,
    "combine($self, like, constants, /)\n--\n\n"
    "Reduced with the basis of another; constants (m, 3): lambda, mu, density; of a general\n"
    "material its factor, 0 and density.");
static PyObject *combine(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  const rf_reduced_parts *parts = self_parts(self);
  PyObject *like_obj, *constants_obj;
  py_in constants;
  if (!PyArg_ParseTuple(args, "OO:combine", &like_obj, &constants_obj)) return NULL;
  const rf_reduced *like = py_reduced_get(state, like_obj);
  if (!like ||
      py_in_f64(&constants, constants_obj, "constants", 2, (npy_intp[]){parts->n_materials, 3}) < 0)
    return NULL;
  rf_reduced *model = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  // rf_part_constants has three doubles in the order of the columns
  st = rf_reduced_parts_combine(parts, like, constants.data, &model, &err);
  Py_END_ALLOW_THREADS
  py_in_release(&constants);
  return st < 0 ? py_raise(state, st, &err) : py_reduced_wrap(state, model);
}

PyDoc_STRVAR(truncate_doc,
             "truncate($self, r, /)\n--\n\n"
             "Parts of the first r coordinates.");
static PyObject *truncate_parts(PyObject *self, PyObject *r_obj) {
  py_state *state = py_state_of_object(self);
  const long r = PyLong_AsLong(r_obj);
  if (r == -1 && PyErr_Occurred()) return NULL;
  rf_reduced_parts *out = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_reduced_parts_truncate(
                     self_parts(self), r < 0 || r > INT32_MAX ? -1 : (int32_t)r, &out, &err));
  return st < 0 ? py_raise(state, st, &err) : wrap(Py_TYPE(self), out);
}

PyDoc_STRVAR(
    arrays_doc,
    "arrays($self, /)\n--\n\n"
    "(coefficients (m, 2, C(r+4, 4)), general (m,), volumes (m,), masses (m, r, r)): fresh\n"
    "arrays.");
static PyObject *arrays(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_reduced_parts *p = self_parts(self);
  const npy_intp m = p->n_materials, r = p->r, count = (npy_intp)rf_polynomial_count(p->r);
  PyObject *coefficient = py_new_f64(3, (npy_intp[]){m, 2, count});
  PyObject *general = py_new_i32(1, &m), *mass = py_new_f64(3, (npy_intp[]){m, r, r});
  PyObject *volume = py_new_f64(1, &m);
  PyObject *result = NULL;
  if (coefficient && general && volume && mass) {
    for (npy_intp k = 0; k < 2 * m; ++k) {
      if (p->energy[k])
        memcpy(py_f64(coefficient) + k * count, p->energy[k]->coefficient,
               (size_t)count * sizeof(double));
      else
        py_i32(general)[k / 2] = 1;
    }
    memcpy(py_f64(volume), p->volume, (size_t)m * sizeof(double));
    memcpy(py_f64(mass), p->mass, (size_t)(m * r * r) * sizeof(double));
    result = PyTuple_Pack(4, coefficient, general, volume, mass);
  }
  PY_XDECREF(coefficient, general, volume, mass);
  return result;
}

PY_GETTER(get_volumes, self, rf_reduced_parts, p,
          py_view_f64(self, p->volume, 1, (npy_intp[]){p->n_materials}))

static PyGetSetDef getset[] = {
    {"volumes", get_volumes, NULL, "Volume of each material [m^3], (m,).", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"combine", combine, METH_VARARGS, combine_doc},
    {"truncate", truncate_parts, METH_O, truncate_doc},
    {"arrays", arrays, METH_NOARGS, arrays_doc},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef functions[] = {
    {"take_apart", take_apart, METH_VARARGS, take_apart_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(parts_doc,
             "ReducedParts(coefficients, general, volumes, masses, simd=0, /)\n--\n\n"
             "Parts of a reduced model by materials, from the arrays of `arrays`.");

static PyType_Spec spec =
    PY_SPEC("ReducedParts", py_object, {Py_tp_new, parts_new}, {Py_tp_dealloc, py_object_dealloc},
            {Py_tp_methods, methods}, {Py_tp_getset, getset}, {Py_tp_doc, (void *)parts_doc});

const py_room py_parts_room = {.types = {{PY_PARTS, &spec}}, .functions = functions};
