// The type _core.Device, which sessions read and write, and the functions that make devices.
#include "pyext/py_device.h"

#include <string.h>

#include "device/force_dimension.h"
#include "device/hand.h"
#include "device/mouse.h"
#include "device/openhaptics.h"
#include "device/replay.h"
#include "device/spacemouse.h"
#include "device/udp.h"
#include "pyext/py_convert.h"
#include "pyext/py_object.h"

static void release(void *device) { rf_device_free(device); }

rf_device *py_device_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_DEVICE, "device", "device");
}

PyObject *py_device_info(const rf_device_info *info) {
  PyObject *name = py_text(info->name);
  if (!name) return NULL;
  return Py_BuildValue("(Ndddiid)", name, info->max_force_n, info->max_torque_nm,
                       info->max_stiffness_n_per_m, (int)info->sensed, (int)info->actuated,
                       info->rate_hz);
}

static PyObject *device_out(py_state *state, rf_status st, const rf_error *err, rf_device *device) {
  if (st < 0) return py_raise(state, st, err);
  return py_object_new(state->types[PY_DEVICE], device, release, NULL);
}

// Converts times (n), positions (n, 3), quaternions (n, 4), buttons (n) or None.
static rf_trajectory *trajectory_in(py_state *state, PyObject *tuple) {
  PyObject *objects[4];
  py_in times = {0}, positions = {0}, quaternions = {0}, buttons = {0};
  rf_trajectory *trajectory = NULL;
  if (!PyArg_ParseTuple(tuple, "OOOO:trajectory", &objects[0], &objects[1], &objects[2],
                        &objects[3]))
    return NULL;
  if (py_in_f64(&times, objects[0], "times", 1, (npy_intp[]){PY_ANY}) < 0) return NULL;
  const npy_intp n = times.shape[0];
  if (py_in_f64(&positions, objects[1], "positions", 2, (npy_intp[]){n, 3}) < 0 ||
      py_in_f64(&quaternions, objects[2], "quaternions", 2, (npy_intp[]){n, 4}) < 0)
    goto done;
  if (objects[3] != Py_None && py_in_u32(&buttons, objects[3], "buttons", 1, &n) < 0) goto done;
  rf_error err = {0};
  const rf_status st = rf_trajectory_create(n, times.data, positions.data, quaternions.data,
                                            buttons.data, &trajectory, &err);
  if (st < 0) py_raise(state, st, &err);
done:
  PY_IN_RELEASE(&times, &positions, &quaternions, &buttons);
  return trajectory;
}

PyDoc_STRVAR(replay_doc,
             "replay_device(trajectory, /)\n--\n\n"
             "Device that plays (times, positions, quaternions, buttons or None).");
static PyObject *replay_device(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *tuple;
  rf_device *device = NULL;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "O!:replay_device", &PyTuple_Type, &tuple)) return NULL;
  rf_trajectory *trajectory = trajectory_in(state, tuple);
  if (!trajectory) return NULL;
  const rf_status st = rf_replay_create(trajectory, &device, &err);
  return device_out(state, st, &err, device);
}

PyDoc_STRVAR(hand_doc,
             "hand_device(trajectory, position, rotation, max_force, max_torque, /)\n--\n\n"
             "Simulated hand: (mass, damping, stiffness) of position and rotation.");
static PyObject *hand_device(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *tuple;
  rf_device *device = NULL;
  rf_hand_settings set;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "O!(ddd)(ddd)dd:hand_device", &PyTuple_Type, &tuple,
                        &set.position.mass, &set.position.damping, &set.position.stiffness,
                        &set.rotation.mass, &set.rotation.damping, &set.rotation.stiffness,
                        &set.max_force_n, &set.max_torque_nm))
    return NULL;
  rf_trajectory *trajectory = trajectory_in(state, tuple);
  if (!trajectory) return NULL;
  const rf_status st = rf_hand_create(&set, rf_trajectory_intent(trajectory), &device, &err);
  return device_out(state, st, &err, device);
}

PyDoc_STRVAR(mouse_doc,
             "mouse_device(position, rotation, speed, turn, max_force, max_torque, /)\n--\n\n"
             "Hand moved by a pointer: (mass, stiffness) of position and rotation.");
static PyObject *mouse_device(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  rf_device *device = NULL;
  rf_mouse_settings set;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "(dd)(dd)dddd:mouse_device", &set.mass_kg, &set.stiffness_n_per_m,
                        &set.inertia_kg_m2, &set.stiffness_nm, &set.speed_m_s, &set.turn_rad_s,
                        &set.max_force_n, &set.max_torque_nm))
    return NULL;
  const rf_status st = rf_mouse_create(&set, &device, &err);
  return device_out(state, st, &err, device);
}

PyDoc_STRVAR(mouse_send_doc,
             "mouse_send(device, hold, displacement, turn, buttons, /)\n--\n\n"
             "Send a target: number of the hold, 0 to release; displacement and turn since then.");
static PyObject *mouse_send(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *object;
  int buttons;
  long long hold;
  rf_mouse_target to;
  rf_error err = {0};
  double *d = to.displacement_m, *q = to.turn;
  if (!PyArg_ParseTuple(args, "OL(ddd)(dddd)i:mouse_send", &object, &hold, &d[0], &d[1], &d[2],
                        &q[0], &q[1], &q[2], &q[3], &buttons))
    return NULL;
  const rf_device *device = py_device_get(state, object);
  if (!device) return NULL;
  if (hold < 0 || buttons < 0)
    return py_fail(state, PY_INPUT_ERROR, "hold and buttons must be at least 0, got %lld and %d",
                   hold, buttons);
  to.hold = (uint64_t)hold;
  to.buttons = (uint64_t)buttons;
  // the GIL makes callers the one writer
  const rf_status st = rf_mouse_send(device, &to, &err);
  return py_result(state, st, &err, Py_NewRef(Py_None));
}

PyDoc_STRVAR(mouse_state_doc,
             "mouse_state(device, /)\n--\n\n"
             "(held, target position, handle position) of the last cycle; None before the first.");
static PyObject *mouse_state(PyObject *module, PyObject *object) {
  rf_mouse_state s;
  const rf_device *device = py_device_get(py_state_of_module(module), object);
  if (!device) return NULL;
  if (!rf_mouse_read_state(device, &s)) Py_RETURN_NONE;
  const double *t = s.target_m, *h = s.handle_m;
  return Py_BuildValue("(N(ddd)(ddd))", PyBool_FromLong(s.held != 0), t[0], t[1], t[2], h[0], h[1],
                       h[2]);
}

// ---- devices outside of the process -------------------------------------------------------

// Converts a text to the encoding of the file system, which may not be UTF-8.  0, or -1 with
// InputError: too long, or not encodable.
static int text_in(py_state *state, PyObject *text, const char *name, size_t size, char *out) {
  PyObject *encoded = PyUnicode_EncodeFSDefault(text);
  if (!encoded) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return -1;
    PyErr_Clear();
    py_fail(state, PY_INPUT_ERROR, "%s has a lone surrogate, which no name can contain", name);
    return -1;
  }
  const char *bytes = PyBytes_AS_STRING(encoded);
  const size_t n = (size_t)PyBytes_GET_SIZE(encoded);
  const int fits = n < size && strlen(bytes) == n;
  if (fits)
    memcpy(out, bytes, n + 1);
  else if (n < size)
    py_fail(state, PY_INPUT_ERROR, "%s has a null character", name);
  else
    py_fail(state, PY_INPUT_ERROR, "%s has %zu bytes, at most %zu are allowed", name, n, size - 1);
  Py_DECREF(encoded);
  return fits ? 0 : -1;
}

static int library_in(py_state *state, PyObject *tuple, rf_library_names *out) {
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  if (n < 1 || n > RF_LIBRARY_MOST_NAMES) {
    py_fail(state, PY_INPUT_ERROR, "a library has 1 to %d names, got %zd", RF_LIBRARY_MOST_NAMES,
            n);
    return -1;
  }
  out->n = (int32_t)n;
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject *text = PyTuple_GET_ITEM(tuple, k);
    if (!PyUnicode_Check(text)) {
      py_fail(state, PY_INPUT_TYPE_ERROR, "library %zd must be a str", k);
      return -1;
    }
    if (text_in(state, text, "library", RF_LIBRARY_NAME, out->name[k]) < 0) return -1;
  }
  return 0;
}

static int address_in(py_state *state, PyObject *host, int port, const char *name, int least,
                      rf_udp_address *out) {
  char text[256];
  if (text_in(state, host, name, sizeof text, text) < 0) return -1;
  if (!rf_udp_parse(text, &out->host)) {
    py_fail(state, PY_INPUT_ERROR,
            "%s: '%s' is not a numeric IPv4 address, such as '127.0.0.1' (names are not looked up)",
            name, text);
    return -1;
  }
  if (port < least || port > UINT16_MAX) {
    py_fail(state, PY_INPUT_ERROR, "%s: a port is between %d and 65535, got %d", name, least, port);
    return -1;
  }
  out->port = (uint16_t)port;
  return 0;
}

PyDoc_STRVAR(udp_doc,
             "udp_device(address, client, wait, max_force, max_torque, takeover, /)\n--\n\n"
             "Bridge over UDP: (host, port) of the socket, of the client or None.");
static PyObject *udp_device(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  int port, client_port, takeover;
  PyObject *host, *client_host, *client;
  rf_udp_settings set = {.wait_s = 0.0};
  rf_device *device = NULL;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "(Ui)Odddp:udp_device", &host, &port, &client, &set.wait_s,
                        &set.max_force_n, &set.max_torque_nm, &takeover))
    return NULL;
  set.takeover = takeover != 0;
  if (address_in(state, host, port, "address", 0, &set.here) < 0) return NULL;
  if (client != Py_None) {
    if (!PyTuple_Check(client))
      return py_fail(state, PY_INPUT_TYPE_ERROR, "client must be a tuple");
    if (!PyArg_ParseTuple(client, "Ui:client", &client_host, &client_port) ||
        address_in(state, client_host, client_port, "client", 1, &set.client) < 0)
      return NULL;
  }
  const rf_status st = rf_udp_create(&set, &device, &err);
  return device_out(state, st, &err, device);
}

PyDoc_STRVAR(udp_counts_doc,
             "udp_counts(device, /)\n--\n\n"
             "(port or 0, accepted, old, foreign, malformed, sent, unsent, refused) of a bridge.");
static PyObject *udp_counts(PyObject *module, PyObject *object) {
  py_state *state = py_state_of_module(module);
  rf_udp_counts c;
  const rf_device *device = py_device_get(state, object);
  if (!device) return NULL;
  if (!rf_udp_read_counts(device, &c))
    return py_fail(state, PY_INPUT_TYPE_ERROR, "the device is not a UdpDevice");
  return Py_BuildValue("(iLLLLLLL)", (int)c.port, (long long)c.accepted, (long long)c.old,
                       (long long)c.foreign, (long long)c.malformed, (long long)c.sent,
                       (long long)c.unsent, (long long)c.refused);
}

PyDoc_STRVAR(udp_accept_doc,
             "udp_accept(device, /)\n--\n\n"
             "Allow another client to take over a bridge once its client is silent.");
static PyObject *udp_accept(PyObject *module, PyObject *object) {
  py_state *state = py_state_of_module(module);
  rf_error err = {0};
  const rf_device *device = py_device_get(state, object);
  if (!device) return NULL;
  const rf_status st = rf_udp_accept(device, &err);
  return py_result(state, st, &err, Py_NewRef(Py_None));
}

PyDoc_STRVAR(spacemouse_doc,
             "spacemouse_device(path, speed, turn, full, deadband, /)\n--\n\n"
             "A SpaceMouse, by the socket of its daemon.");
static PyObject *spacemouse_device(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *path;
  rf_spacemouse_settings set;
  rf_device *device = NULL;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "Udddd:spacemouse_device", &path, &set.speed_m_s, &set.turn_rad_s,
                        &set.full, &set.deadband) ||
      text_in(state, path, "socket", sizeof set.path, set.path) < 0)
    return NULL;
  const rf_status st = rf_spacemouse_create(&set, &device, &err);
  return device_out(state, st, &err, device);
}

PyDoc_STRVAR(force_dimension_doc,
             "force_dimension_device(libraries, max_force, max_torque, /)\n--\n\n"
             "A device of Force Dimension, by the first usable one of these libraries.");
static PyObject *force_dimension_device(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *libraries;
  rf_force_dimension_settings set;
  rf_device *device = NULL;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "O!dd:force_dimension_device", &PyTuple_Type, &libraries,
                        &set.max_force_n, &set.max_torque_nm) ||
      library_in(state, libraries, &set.library) < 0)
    return NULL;
  const rf_status st = rf_force_dimension_create(&set, &device, &err);
  return device_out(state, st, &err, device);
}

PyDoc_STRVAR(openhaptics_doc,
             "openhaptics_device(libraries, name, max_torque, torque_unit, /)\n--\n\n"
             "A device of OpenHaptics, by the first usable one of these libraries; name '': the\n"
             "default device; max_torque 0: forces only.");
static PyObject *openhaptics_device(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *libraries;
  PyObject *name;
  rf_openhaptics_settings set;
  rf_device *device = NULL;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "O!Udd:openhaptics_device", &PyTuple_Type, &libraries, &name,
                        &set.max_torque_nm, &set.torque_unit_nm) ||
      library_in(state, libraries, &set.library) < 0 ||
      text_in(state, name, "name", sizeof set.name, set.name) < 0)
    return NULL;
  const rf_status st = rf_openhaptics_create(&set, &device, &err);
  return device_out(state, st, &err, device);
}

PyDoc_STRVAR(
    probe_doc,
    "probe_device(device, /)\n--\n\n"
    "(name, max_force, max_torque, max_stiffness, sensed, actuated, rate) of an available\n"
    "device; DeviceError gives the reason if it is not available.");
static PyObject *probe_device(PyObject *module, PyObject *object) {
  py_state *state = py_state_of_module(module);
  rf_device_info info;
  rf_error err = {0};
  rf_status st;
  rf_device *device = py_device_get(state, object);
  if (!device) return NULL;
  do {
    PY_WITHOUT_GIL(st = rf_device_probe(device, &info, &err));
  } while (st == RF_ERR_INTERRUPTED && PyErr_CheckSignals() == 0);
  return st < 0 ? py_raise(state, st, &err) : py_device_info(&info);
}

PyDoc_STRVAR(leave_doc,
             "leave_device(device, /)\n--\n\n"
             "In a forked child: release the resources that the device shares with the parent.");
static PyObject *leave_device(PyObject *module, PyObject *object) {
  rf_device *device = py_device_get(py_state_of_module(module), object);
  if (!device) return NULL;
  rf_device_leave(device);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"replay_device", replay_device, METH_VARARGS, replay_doc},
    {"hand_device", hand_device, METH_VARARGS, hand_doc},
    {"mouse_device", mouse_device, METH_VARARGS, mouse_doc},
    {"mouse_send", mouse_send, METH_VARARGS, mouse_send_doc},
    {"mouse_state", mouse_state, METH_O, mouse_state_doc},
    {"udp_device", udp_device, METH_VARARGS, udp_doc},
    {"udp_counts", udp_counts, METH_O, udp_counts_doc},
    {"udp_accept", udp_accept, METH_O, udp_accept_doc},
    {"spacemouse_device", spacemouse_device, METH_VARARGS, spacemouse_doc},
    {"force_dimension_device", force_dimension_device, METH_VARARGS, force_dimension_doc},
    {"openhaptics_device", openhaptics_device, METH_VARARGS, openhaptics_doc},
    {"probe_device", probe_device, METH_O, probe_doc},
    {"leave_device", leave_device, METH_O, leave_doc},
    {NULL, NULL, 0, NULL},
};

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  return py_fail(PyType_GetModuleState(type), PY_INPUT_TYPE_ERROR,
                 "devices are made by functions, such as replay_device");
}

PyDoc_STRVAR(device_doc,
             "Device()\n--\n\n"
             "Device of a session: source of poses, sink of forces; made by functions.");

static PyType_Spec spec =
    PY_SPEC("Device", py_object, {Py_tp_new, device_new}, {Py_tp_dealloc, py_object_dealloc},
            {Py_tp_doc, (void *)device_doc});

static const py_constant constants[] = {{"MOUSE_SILENT", RF_MOUSE_SILENT_S, true},
                                        {NULL, 0.0, false}};

const py_room py_device_room = {
    .types = {{PY_DEVICE, &spec}}, .functions = functions, .constants = constants};
