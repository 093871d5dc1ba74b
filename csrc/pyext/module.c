// The extension module reducedfem._core: two-phase start, state in the module,
// heap types only.  Types and functions live in py_<room>.c.
#define RF_PYEXT_IMPORTS_NUMPY
#include "linalg/blas.h"
#include "pyext/py_core.h"

static PyType_Spec *const type_specs[PY_TYPE_COUNT] = {
    [PY_MESH] = &py_mesh_spec,
    [PY_EMBEDDING] = &py_embedding_spec,
    [PY_SOLID] = &py_solid_spec,
    [PY_REDUCED] = &py_reduced_spec,
    [PY_MOTION] = &py_motion_spec,
    [PY_FREE_BODY] = &py_free_body_spec,
    [PY_PARTS] = &py_parts_spec,
    [PY_DAMPING] = &py_damping_spec,
    [PY_SKIN] = &py_skin_spec,
    [PY_PROJECTED] = &py_projected_spec,
    [PY_SECOND_ORDER] = &py_second_order_spec,
    [PY_VOXMAP] = &py_voxmap_spec,
    [PY_VOXMAP_CONTACT] = &py_voxmap_contact_spec,
    [PY_DEFORMED_FIELD] = &py_deformed_field_spec,
    [PY_POINT_TREE] = &py_point_tree_spec,
    [PY_FIELD] = &py_field_spec,
    [PY_CONTACT] = &py_contact_spec,
    [PY_DEVICE] = &py_device_spec,
    [PY_SESSION] = &py_session_spec,
};

static PyMethodDef *const function_tables[] = {
    py_reduced_functions,  py_system_functions,         py_solid_functions,
    py_mesh_functions,     py_modes_functions,          py_basis_functions,
    py_sketch_functions,   py_spectrum_functions,       py_free_body_functions,
    py_parts_functions,    py_damping_functions,        py_pointshell_functions,
    py_voxmap_functions,   py_deformed_field_functions, py_field_functions,
    py_surface_functions,  py_winding_functions,        py_contact_functions,
    py_coupling_functions, py_device_functions,         py_session_functions,
    py_cut_functions,      py_matrix_functions,
};

py_state *py_state_of_object(PyObject *object) {
  return (py_state *)PyType_GetModuleState(Py_TYPE(object));
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
  for (int i = 0; i < PY_TYPE_COUNT; ++i) {
    PyObject *type = PyType_FromModuleAndSpec(module, type_specs[i], NULL);
    if (!type) return -1;
    state->types[i] = (PyTypeObject *)type;
    if (PyModule_AddType(module, state->types[i]) < 0) return -1;
  }
  for (size_t i = 0; i < sizeof function_tables / sizeof *function_tables; ++i)
    if (PyModule_AddFunctions(module, function_tables[i]) < 0) return -1;
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
