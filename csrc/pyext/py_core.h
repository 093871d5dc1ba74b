// Shared by every py_<room>.c: Python, NumPy, the module state, errors, runs.
#ifndef RF_PYEXT_PY_CORE_H
#define RF_PYEXT_PY_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_23_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL reducedfem_numpy_api
#ifndef RF_PYEXT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <stdbool.h>

#include "base/run.h"
#include "base/status.h"

// Indices of the heap types.
typedef enum py_type_index {
  PY_MESH,
  PY_EMBEDDING,
  PY_SOLID,
  PY_REDUCED,
  PY_DERIVATIVES,
  PY_MOTION,
  PY_STATIC_RESPONSE,
  PY_BARRIER,
  PY_PROXY,
  PY_FREE_BODY,
  PY_GREEN,
  PY_GREEN_CONTACTS,
  PY_PARTS,
  PY_DAMPING,
  PY_SKIN,
  PY_PROJECTED,
  PY_SECOND_ORDER,
  PY_VOXMAP,
  PY_VOXMAP_CONTACT,
  PY_DEFORMED_FIELD,
  PY_POINT_TREE,
  PY_FIELD,
  PY_FILLING,
  PY_FILLER,
  PY_CONTACT,
  PY_LOCAL,
  PY_COMPOSITE,
  PY_CONTROL,
  PY_TIP,
  PY_EXPLICIT_TOUCH,
  PY_DEVICE,
  PY_SESSION,
  PY_WORLD,
  PY_TYPE_COUNT
} py_type_index;

typedef struct py_state {
  PyTypeObject *types[PY_TYPE_COUNT];
  PyObject *errors;  // module reducedfem.errors
} py_state;

extern struct PyModuleDef py_core_def;

static inline py_state *py_state_of_module(PyObject *module) {
  return (py_state *)PyModule_GetState(module);
}
// Returns the state of the module that defined the heap type of `object`.
py_state *py_state_of_object(PyObject *object);

// Returns 0 if `object` is exactly of this type of the core; otherwise -1 with InputTypeError
// "<name> must be a reducedfem.<wanted>, got ...".
int py_require_type(py_state *state, PyObject *object, py_type_index type, const char *name,
                    const char *wanted);
// Rejects keywords in tp_new: 0 without any, otherwise -1 with InputTypeError.
int py_refuse_keywords(PyTypeObject *type, PyObject *kwargs);

// Returns a str of a C text, parts of which may come from drivers and the system in any encoding.
PyObject *py_text(const char *text);
// Raises the exception of a status; never masks a pending one.  Always returns NULL, so a failing
// branch is `return py_raise(state, st, &err);`.
PyObject *py_raise(py_state *state, rf_status st, const rf_error *err);
// Returns 0 after success; after a failure raises the exception and returns -1.
int py_done(py_state *state, rf_status st, const rf_error *err);
// Returns `out` (nullable) after success; after a failure releases it and raises the exception.
PyObject *py_result(py_state *state, rf_status st, const rf_error *err, PyObject *out);
// Classes of reducedfem.errors.
typedef enum py_error {
  PY_INPUT_ERROR,
  PY_INPUT_TYPE_ERROR,
  PY_SINGULAR_ERROR,
  PY_CONVERGENCE_ERROR,
  PY_MESH_ERROR,
  PY_DIVERGED_ERROR,
  PY_DEVICE_ERROR,
  PY_INTERNAL_ERROR
} py_error;

const char *py_error_name(py_error error);
// Raises an error with a formatted message; returns NULL.
PyObject *py_fail(py_state *state, py_error error, const char *format, ...);

// Gives several references back, each nullable.
#define PY_XDECREF(...)                                                    \
  py_xdecref_all(sizeof((PyObject *[]){__VA_ARGS__}) / sizeof(PyObject *), \
                 (PyObject *[]){__VA_ARGS__})
static inline void py_xdecref_all(size_t count, PyObject *const *objects) {
  for (size_t i = 0; i < count; ++i) Py_XDECREF(objects[i]);
}

// Runs one statement without the GIL.
#define PY_WITHOUT_GIL(...) \
  do {                      \
    Py_BEGIN_ALLOW_THREADS  \
    __VA_ARGS__;            \
    Py_END_ALLOW_THREADS    \
  } while (0)

// A long call: threads and progress.  callable(done, total) is invoked with the GIL held, at most
// every 50 ms and at the end; signals (Ctrl-C) are checked at least as often.
typedef struct py_run {
  rf_run run;
  PyObject *callable;  // borrowed; NULL or None: signals only
  double next_call_s, next_signals_s;
} py_run;

// Returns the time of a monotonic clock, s.
double py_now_s(void);

// Ctrl-C within a call under locks: it is taken there, and returned afterwards, as its handlers may
// ask for the locks.  A descriptor of signal.set_wakeup_fd has a byte for each of both.
typedef struct py_interrupt {
  double next_s;
  bool of_main;  // thread: others see no signal
  bool came;
} py_interrupt;

// Returns 0, or -1 with an exception.
int py_interrupt_init(py_interrupt *i);
// Progress of the call, without the GIL: true if Ctrl-C came.
int py_interrupt_look(void *context, int64_t done, int64_t total);
// Returns the signal to Python, without the GIL, whose handlers the next poll of the run calls;
// false: none was taken.
bool py_interrupt_return(py_interrupt *i, py_run *run);

// Returns 0, or -1 with InputTypeError or InputError.
int py_run_init(py_state *state, py_run *r, PyObject *callable, int threads);

typedef struct py_constant {
  const char *name;
  double value;
  bool real;  // a float; else an int
} py_constant;

// Each py_<name>.c registers what it adds to the module in one of these.
typedef struct py_room {
  struct {
    py_type_index index;
    PyType_Spec *spec;
  } types[2];                    // those with a spec
  PyMethodDef *functions;        // nullable
  const py_constant *constants;  // nullable; ends with a name of NULL
} py_room;

// The only list of them.
// clang-format off
#define PY_ROOMS(X) \
  X(barrier) X(basis) X(composite) X(contact) X(control) X(coupling) X(cubature) X(cut) X(damping) X(deformed_field) X(device) \
  X(embedding) X(explicit) X(field) X(filling) X(free_body) X(friction) X(grade) X(gram) X(green) \
  X(green_contacts) X(law) X(local) X(matrix) X(mesh) X(modes) X(motion) X(ordering) X(parts) X(point_tree) \
  X(pointshell) X(projected) X(proxy) X(pull) X(records) X(reduced) X(released) X(second_order) \
  X(session) X(sketch) \
  X(skin) X(solid) X(spectrum) X(surface) X(system) X(tip) X(voxmap) X(winding) X(world)
// clang-format on

#define PY_DECLARE_ROOM(name) extern const py_room py_##name##_room;
PY_ROOMS(PY_DECLARE_ROOM)

#endif
