// The extension module reducedfem._core: two-phase start, state in the module,
// heap types only.  Types and functions live in py_<name>.c.
#define RF_PYEXT_IMPORTS_NUMPY
#include "linalg/blas.h"
#include "pyext/py_core.h"

#define ROOM(name) &py_##name##_room,
// until py_contact.c has a row of its own
extern PyType_Spec py_contact_spec;
extern PyMethodDef py_contact_functions[];
const py_room py_contact_room = {.types = {{PY_CONTACT, &py_contact_spec}},
                                 .functions = py_contact_functions};

static const py_room *const rooms[] = {PY_ROOMS(ROOM)};

py_state *py_state_of_object(PyObject *object) {
  return (py_state *)PyType_GetModuleState(Py_TYPE(object));
}

static int register_room(PyObject *module, py_state *state, const py_room *room) {
  for (size_t i = 0; i < sizeof room->types / sizeof *room->types && room->types[i].spec; ++i) {
    PyObject *type = PyType_FromModuleAndSpec(module, room->types[i].spec, NULL);
    if (!type) return -1;
    state->types[room->types[i].index] = (PyTypeObject *)type;
    if (PyModule_AddType(module, (PyTypeObject *)type) < 0) return -1;
  }
  for (const py_constant *c = room->constants; c && c->name; ++c) {
    PyObject *value = c->real ? PyFloat_FromDouble(c->value) : PyLong_FromDouble(c->value);
    const int st = value ? PyModule_AddObjectRef(module, c->name, value) : -1;
    Py_XDECREF(value);
    if (st < 0) return -1;
  }
  return room->functions ? PyModule_AddFunctions(module, room->functions) : 0;
}

static int core_exec(PyObject *module) {
  // NumPy supports one interpreter only, and progress calls use PyGILState
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "reducedfem can be imported in the main interpreter of a process only, not in "
                    "sub-interpreters; use processes instead");
    return -1;
  }
  import_array1(-1);
  py_state *state = py_state_of_module(module);
  state->errors = PyImport_ImportModule("reducedfem.errors");
  if (!state->errors) return -1;
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; ++i)
    if (register_room(module, state, rooms[i]) < 0) return -1;
  rf_blas_choose_kernels();
  return 0;
}

static int core_traverse(PyObject *module, visitproc visit, void *arg) {
  py_state *state = py_state_of_module(module);
  if (!state) return 0;
  Py_VISIT(state->errors);
  for (int i = 0; i < PY_TYPE_COUNT; ++i) Py_VISIT(state->types[i]);
  return 0;
}

static int core_clear(PyObject *module) {
  py_state *state = py_state_of_module(module);
  if (!state) return 0;
  Py_CLEAR(state->errors);
  for (int i = 0; i < PY_TYPE_COUNT; ++i) Py_CLEAR(state->types[i]);
  return 0;
}

static void core_free(void *module) { core_clear(module); }

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, core_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

struct PyModuleDef py_core_def = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "reducedfem._core",
    .m_doc = "C core of reducedfem. The public face is the package reducedfem.",
    .m_size = sizeof(py_state),
    .m_slots = core_slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
    .m_free = core_free,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&py_core_def); }
