#include "pyext/py_object.h"

PyObject *py_object_new(PyTypeObject *type, void *held, void (*release)(void *), PyObject *kept) {
  py_object *self = (py_object *)type->tp_alloc(type, 0);
  if (!self) {
    release(held);
    return NULL;
  }
  self->held = held;
  self->release = release;
  self->kept = Py_XNewRef(kept);
  return (PyObject *)self;
}

PyObject *py_object_new_locked(PyTypeObject *type, void *held, void (*release)(void *),
                               PyObject *kept) {
  PyObject *self = py_object_new(type, held, release, kept);
  if (!self) return NULL;
  PyThread_type_lock lock = PyThread_allocate_lock();
  ((py_object *)self)->lock = lock;
  if (lock) return self;
  Py_DECREF(self);
  return PyErr_NoMemory();
}

void py_object_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  py_object *o = (py_object *)self;
  if (PyType_IS_GC(type)) PyObject_GC_UnTrack(self);
  o->release(o->held);
  if (o->lock) PyThread_free_lock(o->lock);
  Py_CLEAR(o->kept);
  type->tp_free(self);
  Py_DECREF(type);
}

int py_object_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((py_object *)self)->kept);
  return 0;
}
