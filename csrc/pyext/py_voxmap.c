// The types _core.Voxmap and _core.VoxmapContact: two-bit voxels, and forces of points on them.
#include "pyext/py_voxmap.h"

#include <string.h>

#include "contact/voxmap.h"
#include "linalg/pose.h"
#include "linalg/quat.h"
#include "pyext/py_convert.h"
#include "pyext/py_object.h"
#include "pyext/py_surface.h"

// ---- the voxels -------------------------------------------------------------------

static const rf_voxmap *self_map(PyObject *self) { return py_held(self); }

const rf_voxmap *py_voxmap_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_VOXMAP, "voxmap", "Voxmap");
}

static void release(void *map) { rf_voxmap_free(map); }

// Wraps a C voxmap, taken over also on failure.
static PyObject *wrap(PyTypeObject *type, rf_voxmap *map) {
  return py_object_new(type, map, release, NULL);
}

static PyObject *voxmap_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *values_obj, *origin_obj, *result = NULL;
  double edge;
  py_in values = {0}, origin = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOd:Voxmap", &values_obj, &origin_obj, &edge)) return NULL;
  if (py_in_u8(&values, values_obj, "values", 3, (npy_intp[]){PY_ANY, PY_ANY, PY_ANY}) == 0 &&
      py_in_f64(&origin, origin_obj, "origin", 1, (npy_intp[]){3}) == 0) {
    int32_t n[3];
    for (int c = 0; c < 3; ++c) n[c] = (int32_t)values.shape[c];
    rf_voxmap *map = NULL;
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_voxmap_create(n, origin.data, edge, values.data, &map, &err));
    result = st < 0 ? py_raise(state, st, &err) : wrap(type, map);
  }
  PY_IN_RELEASE(&values, &origin);
  return result;
}

PyDoc_STRVAR(build_doc,
             "voxmap_build($module, vertices, triangles, resolution, expand, progress, threads, "
             "/)\n--\n\n"
             "Voxmap of a surface.");
static PyObject *build(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *result = NULL;
  int resolution;
  double expand;
  py_run run;
  py_surface in = {0};
  if (PyArg_ParseTuple(args, "OOidOi:voxmap_build", PY_SURFACE_ARGS(in), &resolution, &expand,
                       PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0) {
    rf_voxmap *map = NULL;
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_voxmap_build(&in.view, resolution, expand, &run.run, &map, &err));
    result = st < 0 ? py_raise(state, st, &err) : wrap(state->types[PY_VOXMAP], map);
  }
  py_surface_release(&in);
  return result;
}

PyDoc_STRVAR(values_doc,
             "values($self, /)\n--\n\n"
             "Fresh array of all voxels, uint8 (nx, ny, nz).");
static PyObject *values(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_voxmap *m = self_map(self);
  PyObject *out = PyArray_SimpleNew(3, ((npy_intp[]){m->n[0], m->n[1], m->n[2]}), NPY_UINT8);
  if (!out) return NULL;
  uint8_t *to = PyArray_DATA((PyArrayObject *)out);
  PY_WITHOUT_GIL(rf_voxmap_values(m, to));
  return out;
}

PyDoc_STRVAR(at_doc,
             "at($self, points, /)\n--\n\n"
             "Values of the voxels that contain points (k, 3), uint8 (k,).");
static PyObject *at(PyObject *self, PyObject *points_obj) {
  const rf_voxmap *m = self_map(self);
  py_in points = {0};
  if (py_in_f64(&points, points_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) < 0) return NULL;
  PyObject *out = PyArray_SimpleNew(1, ((npy_intp[]){points.shape[0]}), NPY_UINT8);
  if (out) {
    uint8_t *to = PyArray_DATA((PyArrayObject *)out);
    const double *p = points.data;
    Py_BEGIN_ALLOW_THREADS
    double centre[3];
    for (npy_intp i = 0; i < points.shape[0]; ++i)
      to[i] = (uint8_t)rf_voxmap_at_rt(m, p + 3 * i, centre);
    Py_END_ALLOW_THREADS
  }
  py_in_release(&points);
  return out;
}

PY_GETTER(get_origin, self, rf_voxmap, m, py_view_f64(self, m->origin, 1, (npy_intp[]){3}))
PY_GETTER(get_edge, self, rf_voxmap, m, PyFloat_FromDouble(m->edge))
PY_GETTER(get_shape, self, rf_voxmap, m,
          Py_BuildValue("(iii)", (int)m->n[0], (int)m->n[1], (int)m->n[2]))

static PyGetSetDef voxmap_getset[] = {
    {"origin", get_origin, NULL, "Low corner of the grid, read-only (3,).", NULL},
    {"edge", get_edge, NULL, "Edge of a voxel.", NULL},
    {"shape", get_shape, NULL, "Voxels along x, y, z.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef voxmap_methods[] = {
    {"values", values, METH_NOARGS, values_doc},
    {"at", at, METH_O, at_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(voxmap_doc,
             "Voxmap(values, origin, edge, /)\n--\n\n"
             "Voxels of two bits from uint8 values (nx, ny, nz).");

static PyType_Spec voxmap_spec =
    PY_SPEC("Voxmap", py_object, {Py_tp_new, voxmap_new}, {Py_tp_dealloc, py_object_dealloc},
            {Py_tp_methods, voxmap_methods}, {Py_tp_getset, voxmap_getset},
            {Py_tp_doc, (void *)voxmap_doc});

static PyMethodDef functions[] = {
    {"voxmap_build", build, METH_VARARGS, build_doc},
    {NULL, NULL, 0, NULL},
};

// ---- forces -------------------------------------------------------------------------

static const rf_contact_voxmap *self_contact(PyObject *self) { return py_held(self); }

static void release_contact(void *contact) { rf_contact_voxmap_free(contact); }

static PyObject *contact_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *voxmap_obj, *points_obj, *normals_obj, *self = NULL;
  double stiffness;
  py_in points = {0}, normals = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOd:VoxmapContact", &voxmap_obj, &points_obj, &normals_obj,
                        &stiffness))
    return NULL;
  const rf_voxmap *map = py_voxmap_get(state, voxmap_obj);
  if (!map || py_in_f64(&points, points_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) < 0) return NULL;
  if (py_in_f64(&normals, normals_obj, "normals", 2, (npy_intp[]){points.shape[0], 3}) < 0)
    goto done;
  rf_contact_voxmap *contact = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_contact_voxmap_create(map, (int32_t)points.shape[0], points.data,
                                               normals.data, stiffness, &contact, &err));
  // the contact borrows the voxmap
  self = st < 0 ? py_raise(state, st, &err)
                : py_object_new(type, contact, release_contact, voxmap_obj);
done:
  PY_IN_RELEASE(&points, &normals);
  return self;
}

PyDoc_STRVAR(evaluate_doc,
             "evaluate($self, position, quaternion, /)\n--\n\n"
             "(force, torque, touching, inside) at a pose of the voxmap.");
static PyObject *evaluate(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *position_obj, *quaternion_obj, *result = NULL;
  py_in position = {0}, quaternion = {0};
  if (!PyArg_ParseTuple(args, "OO:evaluate", &position_obj, &quaternion_obj)) return NULL;
  if (py_in_f64(&position, position_obj, "position", 1, (npy_intp[]){3}) < 0 ||
      py_in_f64(&quaternion, quaternion_obj, "quaternion", 1, (npy_intp[]){4}) < 0)
    goto done;
  rf_pose pose;
  memcpy(pose.position_m, position.data, sizeof pose.position_m);
  memcpy(pose.quaternion, quaternion.data, sizeof pose.quaternion);
  rf_error err = {0};
  const rf_status st = rf_pose_check(&pose, &err);
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  double unit[4];
  rf_quat_normalize(pose.quaternion, unit);
  rf_voxmap_report report;
  PY_WITHOUT_GIL(rf_contact_voxmap_rt(self_contact(self), pose.position_m, unit, &report));
  PyObject *force = py_new_f64(1, (npy_intp[]){3}), *torque = py_new_f64(1, (npy_intp[]){3});
  if (force && torque) {
    for (int c = 0; c < 3; ++c) {
      py_f64(force)[c] = report.force[c];
      py_f64(torque)[c] = report.torque[c];
    }
    result = Py_BuildValue("OOii", force, torque, (int)report.touching, (int)report.inside);
  }
  PY_XDECREF(force, torque);
done:
  PY_IN_RELEASE(&position, &quaternion);
  return result;
}

static PyMethodDef contact_methods[] = {
    {"evaluate", evaluate, METH_VARARGS, evaluate_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(contact_doc,
             "VoxmapContact(voxmap, points, normals, stiffness, /)\n--\n\n"
             "Contact of points (n, 3) with inward unit normals and a Voxmap.");

static PyType_Spec contact_spec = PY_SPEC_KEEPING(
    "VoxmapContact", py_object, {Py_tp_new, contact_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, contact_methods}, {Py_tp_doc, (void *)contact_doc});

const py_room py_voxmap_room = {
    .types = {{PY_VOXMAP, &voxmap_spec}, {PY_VOXMAP_CONTACT, &contact_spec}},
    .functions = functions};
