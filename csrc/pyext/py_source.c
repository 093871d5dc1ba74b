#include "pyext/py_source.h"

#define ROW(name) {&py_##name##_source, rf_system_##name, rf_stable_step_##name},
static const py_system_kind KINDS[] = {RF_SYSTEMS(ROW)};
#undef ROW

const py_system_kind *py_source_in(py_state *state, PyObject *system, PyObject *strain_rate,
                                   py_source *s) {
  for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; ++i) {
    const py_source_kind *source = KINDS[i].source;
    if (Py_TYPE(system) != state->types[source->type]) continue;
    const int failed = source->in(state, system, strain_rate, s);
    s->damping.viscosity = s->viscosity.data;
    return failed ? NULL : &KINDS[i];
  }
  py_fail(state, PY_INPUT_TYPE_ERROR, "system must be the name of a kind of system, got %s",
          Py_TYPE(system)->tp_name);
  return NULL;
}

void py_source_release(py_source *s) { py_in_release(&s->viscosity); }

int py_source_vector_in(const py_source *s, py_in *in, PyObject *object, const char *name) {
  *in = (py_in){0};
  if (object == Py_None) return 0;
  return s->ndim == 2 ? py_in_field(in, object, name, s->n) : py_in_f64(in, object, name, 1, &s->n);
}
