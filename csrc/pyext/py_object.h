// Base of the core's types: an object owns one C struct, releases it, and keeps alive what the
// struct borrows.  A type with fields of its own begins with a py_object.
#ifndef RF_PYEXT_PY_OBJECT_H
#define RF_PYEXT_PY_OBJECT_H

#include "pyext/py_core.h"

typedef struct py_object {
  PyObject_HEAD void *held;     // the C struct
  void (*release)(void *held);  // frees it; called before `kept` is let go
  PyObject *kept;               // strong; what the struct borrows, a tuple of several; nullable
  PyThread_type_lock lock;      // around what changes the struct; NULL: nothing does
} py_object;

static inline void *py_held(PyObject *self) { return ((py_object *)self)->held; }
// Without the GIL, and not for longer than Python may wait.
static inline void py_lock(PyObject *self) {
  PyThread_acquire_lock(((py_object *)self)->lock, WAIT_LOCK);
}
static inline void py_unlock(PyObject *self) { PyThread_release_lock(((py_object *)self)->lock); }

// An object that holds `held`, which is taken over, also on failure.
PyObject *py_object_new(PyTypeObject *type, void *held, void (*release)(void *), PyObject *kept);
// The same with a lock.
PyObject *py_object_new_locked(PyTypeObject *type, void *held, void (*release)(void *),
                               PyObject *kept);

void py_object_dealloc(PyObject *self);
// For types whose objects keep others.  None has tp_clear: objects are complete when they are
// made, of older ones, so that no circle runs through them.
int py_object_traverse(PyObject *self, visitproc visit, void *arg);

#endif
