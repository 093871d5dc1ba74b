// Base of the core's types: an object owns one C struct, releases it, and keeps alive what the
// struct borrows.  A type with fields of its own begins with a py_object.
#ifndef RF_PYEXT_PY_OBJECT_H
#define RF_PYEXT_PY_OBJECT_H

#include "pyext/py_core.h"

typedef struct py_object {
  PyObject_HEAD void *held;     // the C struct
  void (*release)(void *held);  // frees it, before `kept` is released
  PyObject *kept;           // strong; owner of borrowed data, a tuple or list if several; nullable
  PyThread_type_lock lock;  // held while the struct changes; NULL: immutable
} py_object;

static inline void *py_held(PyObject *self) { return ((py_object *)self)->held; }
// Defines the getter `name` of an attribute that never changes: a value by the object `self` and
// `held`, a const type *.
#define PY_GETTER(name, self, type, held, ...)          \
  static PyObject *name(PyObject *self, void *unused) { \
    (void)unused;                                       \
    const type *held = py_held(self);                   \
    return __VA_ARGS__;                                 \
  }
// Returns the C struct of an object of exactly this type; otherwise NULL, as `py_require_type`.
static inline void *py_held_as(py_state *state, PyObject *object, py_type_index type,
                               const char *name, const char *wanted) {
  return py_require_type(state, object, type, name, wanted) < 0 ? NULL : py_held(object);
}
// Takes the lock; call without the GIL, hold it briefly: Python may wait for it.  One who calls
// Python while holding it must refuse to be asked again by the same thread.
static inline void py_lock(PyObject *self) {
  PyThread_acquire_lock(((py_object *)self)->lock, WAIT_LOCK);
}
static inline void py_unlock(PyObject *self) { PyThread_release_lock(((py_object *)self)->lock); }

// Runs one statement under the lock of an object, without the GIL.
#define PY_UNDER_LOCK(object, ...) \
  do {                             \
    Py_BEGIN_ALLOW_THREADS         \
    py_lock(object);               \
    __VA_ARGS__;                   \
    py_unlock(object);             \
    Py_END_ALLOW_THREADS           \
  } while (0)

// Makes an object that owns `held`, taken over also on failure.
PyObject *py_object_new(PyTypeObject *type, void *held, void (*release)(void *), PyObject *kept);
// Makes one with a lock.
PyObject *py_object_new_locked(PyTypeObject *type, void *held, void (*release)(void *),
                               PyObject *kept);

void py_object_dealloc(PyObject *self);
// tp_traverse of types whose objects keep others.  There is no tp_clear: in a cycle, as through the
// functions of a system, there is an object of Python that has one.
int py_object_traverse(PyObject *self, visitproc visit, void *arg);

// The PyType_Spec of a type, after its name, its struct and its slots.
#define PY_SPEC_OF(type, object, more_flags, ...)                          \
  {                                                                        \
    .name = "reducedfem._core." type, .basicsize = sizeof(object),         \
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | (more_flags), \
    .slots = (PyType_Slot[]) {                                             \
      __VA_ARGS__, { 0, NULL }                                             \
    }                                                                      \
  }
#define PY_SPEC(type, object, ...) PY_SPEC_OF(type, object, 0, __VA_ARGS__)
// The same of a type whose objects keep others.
#define PY_SPEC_KEEPING(type, object, ...) \
  PY_SPEC_OF(type, object, Py_TPFLAGS_HAVE_GC, {Py_tp_traverse, py_object_traverse}, __VA_ARGS__)

#endif
