#include "pyext/py_fields.h"

#include "polynomial/polynomial.h"
#include "pyext/py_solid.h"

int py_fields_in(py_state *state, py_fields *f, PyObject *solid, PyObject *fields, const char *name,
                 PyObject *progress, int threads) {
  *f = (py_fields){.solid = py_solid_get(state, solid)};
  if (!f->solid || py_run_init(state, &f->run, progress, threads) < 0 ||
      py_in_motions(state, &f->in, fields, name, f->solid) < 0)
    return -1;
  if (f->in.shape[0] > INT32_MAX / 2) {
    py_fail(state, PY_INPUT_ERROR, "%s holds too many fields: %zd", name, f->in.shape[0]);
    py_fields_release(f);
    return -1;
  }
  f->data = f->in.data;
  f->count = (int32_t)f->in.shape[0];
  return 0;
}

int py_basis_in(py_state *state, py_fields *f, PyObject *solid, PyObject *basis, PyObject *progress,
                int threads) {
  if (py_fields_in(state, f, solid, basis, "basis", progress, threads) < 0) return -1;
  if (f->count >= 1 && f->count <= RF_POLYNOMIAL_MAX_R) return 0;
  py_fail(state, PY_INPUT_ERROR, "basis must have 1 to %d vectors, got %d", RF_POLYNOMIAL_MAX_R,
          (int)f->count);
  py_fields_release(f);
  return -1;
}

void py_fields_release(py_fields *f) { py_in_release(&f->in); }
