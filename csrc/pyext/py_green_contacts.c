// Contacts that come and go one at a time, on a surface with Green's functions.
#include "green/contacts.h"

#include <string.h>

#include "pyext/py_convert.h"
#include "pyext/py_green.h"
#include "pyext/py_object.h"

static void release_contacts(void *contacts) { rf_green_contacts_free(contacts); }

static PyObject *contacts_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *green_obj, *released_obj = NULL;
  int most, threads = 1;
  py_run run;
  py_in released = {0};
  rf_green_contacts *contacts = NULL;
  rf_error err = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "Oi|Oi:GreenContacts", &green_obj, &most, &released_obj, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  const rf_green *g = py_green_get(state, green_obj);
  if (!g || (released_obj && py_in_i32(&released, released_obj, "released", 1, (npy_intp[]){PY_ANY},
                                       0, g->n_releasable - 1) < 0))
    return NULL;
  const int32_t n = released_obj ? (int32_t)released.shape[0] : 0;
  rf_status st;
  PY_WITHOUT_GIL(
      st = rf_green_contacts_create(g, &run.run, most, n, released.data, &contacts, &err));
  py_in_release(&released);
  if (st < 0) return py_raise(state, st, &err);
  return py_object_new_locked(type, contacts, release_contacts, green_obj);
}

PyDoc_STRVAR(contacts_add_doc,
             "add($self, place, normal, /)\n--\n\n"
             "Add a contact, along a unit normal (3,) or None; False if it is held already.");
static PyObject *contacts_add(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  rf_green_contacts *c = py_held(self);
  const rf_green *g = py_held(((py_object *)self)->kept);
  PyObject *normal_obj;
  int place;
  py_in normal = {0};
  if (!PyArg_ParseTuple(args, "iO:add", &place, &normal_obj)) return NULL;
  if (place < 0 || place >= g->count)
    return py_fail(state, PY_INPUT_ERROR, "place is %d; places are 0 to %d", place, g->count - 1);
  if (normal_obj != Py_None && py_in_f64(&normal, normal_obj, "normal", 1, (npy_intp[]){3}) < 0)
    return NULL;
  rf_status st = RF_OK;
  bool held;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  held = rf_green_contacts_find(c, place) >= 0;
  if (!held) st = rf_green_contacts_add(c, place, normal.data);
  py_unlock(self);
  Py_END_ALLOW_THREADS
  py_in_release(&normal);
  if (st == RF_ERR_ARG)
    return py_fail(state, PY_INPUT_ERROR,
                   "all contacts are in use: remove one first, or ask for more by max_contacts");
  if (st < 0)
    return py_fail(
        state, PY_SINGULAR_ERROR,
        "node %d moves as the nodes that are in contact already: the contact adds nothing",
        (int)g->node[place]);
  return PyBool_FromLong(!held);
}

PyDoc_STRVAR(contacts_remove_doc,
             "remove($self, place, /)\n--\n\nRemove the contact; False if there is none.");
static PyObject *contacts_remove(PyObject *self, PyObject *args) {
  rf_green_contacts *c = py_held(self);
  int place;
  int32_t k;
  if (!PyArg_ParseTuple(args, "i:remove", &place)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  k = rf_green_contacts_find(c, place);
  if (k >= 0) rf_green_contacts_remove_rt(c, k);
  py_unlock(self);
  Py_END_ALLOW_THREADS
  return PyBool_FromLong(k >= 0);
}

PyDoc_STRVAR(contacts_solve_doc,
             "solve($self, displacement, /)\n--\n\n"
             "Forces (m, 3) that displace the contacts by these displacements (m, 3).");
static PyObject *contacts_solve(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  rf_green_contacts *c = py_held(self);
  PyObject *displacement_obj;
  py_in displacement = {0};
  if (!PyArg_ParseTuple(args, "O:solve", &displacement_obj) ||
      py_in_f64(&displacement, displacement_obj, "displacement", 2, (npy_intp[]){PY_ANY, 3}) < 0)
    return NULL;
  const npy_intp m = displacement.shape[0];
  PyObject *force = py_new_f64(2, (npy_intp[]){m, 3});
  if (!force) {
    py_in_release(&displacement);
    return NULL;
  }
  double *to = py_f64(force);
  rf_status st = RF_OK;
  int32_t count;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  count = rf_green_contacts_count(c);
  if (count == m) st = rf_green_contacts_solve_rt(c, displacement.data, to);
  py_unlock(self);
  Py_END_ALLOW_THREADS
  py_in_release(&displacement);
  if (count != m || st < 0) Py_CLEAR(force);
  if (count != m)
    return py_fail(state, PY_INPUT_ERROR, "displacement must have shape (%d, 3), got (%zd, 3)",
                   (int)count, m);
  if (st == RF_ERR_ARG)
    return py_fail(state, PY_INPUT_ERROR,
                   "displacement has values so large that forces would not be finite");
  if (st < 0)
    return py_fail(state, PY_SINGULAR_ERROR,
                   "the contacts are too near to each other: their compliance is singular");
  return force;
}

static PyObject *contacts_places(PyObject *self, void *none) {
  (void)none;
  rf_green_contacts *c = py_held(self);
  int32_t place[RF_GREEN_MOST_CONTACTS], count;
  Py_BEGIN_ALLOW_THREADS
  py_lock(self);
  count = rf_green_contacts_count(c);
  for (int32_t k = 0; k < count; ++k) place[k] = rf_green_contacts_place(c, k);
  py_unlock(self);
  Py_END_ALLOW_THREADS
  PyObject *out = py_new_i32(1, (npy_intp[]){count});
  if (out) memcpy(py_i32(out), place, (size_t)count * sizeof *place);
  return out;
}

static PyObject *contacts_lift(PyObject *self, void *none) {
  (void)none;
  double lift;
  PY_UNDER_LOCK(self, lift = rf_green_contacts_lift(py_held(self)));
  return PyFloat_FromDouble(lift);
}

static PyGetSetDef contacts_attributes[] = {
    {"lift", contacts_lift, NULL, "Part by which blocks are softer; 0: exact.", NULL},
    {"places", contacts_places, NULL, "Places of the contacts, in the order of addition.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef contacts_methods[] = {
    {"add", contacts_add, METH_VARARGS, contacts_add_doc},
    {"remove", contacts_remove, METH_VARARGS, contacts_remove_doc},
    {"solve", contacts_solve, METH_VARARGS, contacts_solve_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(contacts_doc,
             "GreenContacts(green, most, released=(), threads=1, /)\n--\n\n"
             "Contacts that come and go one at a time, with releasable nodes (by index) freed.");

static PyType_Spec contacts_spec =
    PY_SPEC_KEEPING("GreenContacts", py_object, {Py_tp_new, contacts_new},
                    {Py_tp_dealloc, py_object_dealloc}, {Py_tp_methods, contacts_methods},
                    {Py_tp_getset, contacts_attributes}, {Py_tp_doc, (void *)contacts_doc});

static const py_constant constants[] = {{"GREEN_MOST_CONTACTS", RF_GREEN_MOST_CONTACTS, false},
                                        {NULL, 0.0, false}};

const py_room py_green_contacts_room = {.types = {{PY_GREEN_CONTACTS, &contacts_spec}},
                                        .constants = constants};
