// Layout of the records of haptic sessions.
#include <string.h>

#include "haptic/record.h"
#include "haptic/snapshot.h"
#include "pyext/py_core.h"

// Appends a field of a record to its lists; 0, or -1 with an exception set.
static int add_field(PyObject *lists[3], const char *name, PyObject *format, size_t offset) {
  PyObject *row[3] = {PyUnicode_FromString(name), format, PyLong_FromSize_t(offset)};
  int failed = 0;
  for (int i = 0; i < 3; ++i) {
    failed |= !row[i] || PyList_Append(lists[i], row[i]) < 0;
    Py_XDECREF(row[i]);
  }
  return failed ? -1 : 0;
}

PyDoc_STRVAR(
    layout_doc,
    "record_layout(free, coordinates, touched, sites, /)\n--\n\n"
    "(names, formats, offsets, bytes) of a record with these numbers of free bodies and of\n"
    "reduced coordinates, of a touched body (1) or contacts (0), and of sites of shells with a\n"
    "local compliance, as numpy.dtype takes them.");
static PyObject *record_layout(PyObject *module, PyObject *args) {
  rf_record_layout layout = {0};
  int free, coordinates, touched, sites, n, failed = 0;
  if (!PyArg_ParseTuple(args, "iiii:record_layout", &free, &coordinates, &touched, &sites))
    return NULL;
  if (free < 0 || coordinates < 0 || sites < 0)
    return py_fail(py_state_of_module(module), PY_INPUT_ERROR,
                   "numbers of bodies, coordinates and sites must not be negative, got %d, %d and "
                   "%d",
                   free, coordinates, sites);
  layout.n_free = free;
  layout.n_touched = touched != 0;
  layout.n_coordinates = coordinates;
  layout.n_sites = sites;
  rf_record_layout_place(&layout);
  const struct {
    const char *name, *format;
    int count;
    size_t at;
  } state[] = {{"body_position", "(%d,3)<f8", free, layout.positions_at},
               {"body_quaternion", "(%d,4)<f8", free, layout.quaternions_at},
               {"anchor", "(3,)<f8", layout.n_touched, layout.touched_at},
               {"slip", "(3,)<f8", layout.n_touched, layout.touched_at + 3 * sizeof(double)},
               {"q", "(%d,)<f4", coordinates, layout.coordinates_at},
               {"site_contact", "(%d,)<i4", sites, layout.contacts_at},
               {"site_point", "(%d,)<i4", sites, layout.points_at},
               {"site_force", "(%d,3)<f4", sites, layout.forces_at}};
  const rf_snapshot_field *field = rf_snapshot_record(&n);
  PyObject *lists[3] = {PyList_New(0), PyList_New(0), PyList_New(0)};
  if (!lists[0] || !lists[1] || !lists[2]) failed = -1;
  for (int k = 0; !failed && k < n; ++k)
    failed = add_field(lists, strchr(field[k].name, '.') + 1, PyUnicode_FromString(field[k].format),
                       field[k].offset);
  for (size_t k = 0; !failed && k < sizeof state / sizeof *state; ++k)
    if (state[k].count > 0)
      failed = add_field(lists, state[k].name,
                         PyUnicode_FromFormat(state[k].format, state[k].count), state[k].at);
  PyObject *out =
      failed ? NULL
             : Py_BuildValue("(OOOn)", lists[0], lists[1], lists[2], (Py_ssize_t)layout.bytes);
  for (int i = 0; i < 3; ++i) Py_XDECREF(lists[i]);
  return out;
}

static PyMethodDef functions[] = {
    {"record_layout", record_layout, METH_VARARGS, layout_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_records_room = {.functions = functions};
