// The type _core.Mesh, and meshes of voxels.
#include "pyext/py_mesh.h"

#include <string.h>

#include "mesh/quadratic.h"
#include "mesh/slabs.h"
#include "mesh/topology.h"
#include "mesh/voxelize.h"
#include "pyext/py_convert.h"
#include "pyext/py_object.h"
#include "pyext/py_surface.h"

static const rf_mesh *self_mesh(PyObject *self) { return py_held(self); }

const rf_mesh *py_mesh_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_MESH, "mesh", "Mesh");
}

static void release(void *mesh) { rf_mesh_free(mesh); }

// Wraps a C mesh, taken over also on failure.
static PyObject *wrap(PyTypeObject *type, rf_mesh *mesh) {
  return py_object_new(type, mesh, release, NULL);
}

static PyObject *mesh_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *nodes_obj, *elements_obj, *regions_obj = Py_None, *result = NULL;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OO|O:Mesh", &nodes_obj, &elements_obj, &regions_obj)) return NULL;

  py_in nodes = {0}, elements = {0}, regions = {0};
  rf_mesh *mesh = NULL;
  rf_error err = {0};
  if (py_in_f64(&nodes, nodes_obj, "nodes", 2, (npy_intp[]){PY_ANY, 3}) < 0) goto done;
  if (nodes.shape[0] < 1 || nodes.shape[0] > RF_MESH_MAX_NODES) {
    py_fail(state, PY_MESH_ERROR, "nodes has %zd rows; a mesh needs 4 to %d", nodes.shape[0],
            (int)RF_MESH_MAX_NODES);
    goto done;
  }
  if (py_in_i32(&elements, elements_obj, "elements", 2, (npy_intp[]){PY_ANY, PY_ANY}, 0,
                (int32_t)(nodes.shape[0] - 1)) < 0)
    goto done;
  if (elements.shape[0] < 1) {
    py_fail(state, PY_MESH_ERROR, "elements has 0 rows; a mesh needs at least one");
    goto done;
  }
  if (elements.shape[1] != 4 && elements.shape[1] != 8 && elements.shape[1] != 10 &&
      elements.shape[1] != 20) {
    py_fail(state, PY_INPUT_ERROR,
            "elements must have shape (e, 4) or (e, 10) for tetrahedra, (e, 8) or (e, 20) for "
            "hexahedra, got (%zd, %zd)",
            elements.shape[0], elements.shape[1]);
    goto done;
  }
  if (regions_obj != Py_None &&
      py_in_i32(&regions, regions_obj, "regions", 1, &elements.shape[0], INT32_MIN, INT32_MAX) < 0)
    goto done;

  rf_status st;
  PY_WITHOUT_GIL(st = rf_mesh_create((rf_element_type)elements.shape[1], (int32_t)nodes.shape[0],
                                     nodes.data, (int32_t)elements.shape[0], elements.data,
                                     regions.data, &mesh, &err));
  result = st < 0 ? py_raise(state, st, &err) : wrap(type, mesh);

done:
  PY_IN_RELEASE(&nodes, &elements, &regions);
  return result;
}

PY_GETTER(get_nodes, self, rf_mesh, m, py_view_f64(self, m->nodes, 2, (npy_intp[]){m->n_nodes, 3}))
PY_GETTER(get_elements, self, rf_mesh, m,
          py_view_i32(self, m->elements, 2, (npy_intp[]){m->n_elements, (npy_intp)m->type}))
PY_GETTER(get_regions, self, rf_mesh, m,
          py_view_i32(self, m->regions, 1, (npy_intp[]){m->n_elements}))

static PyGetSetDef mesh_getset[] = {
    {"nodes", get_nodes, NULL, "Rest positions in m, read-only (n, 3).", NULL},
    {"elements", get_elements, NULL,
     "Node indices, read-only int32 (e, 4), (e, 8), (e, 10) or (e, 20).", NULL},
    {"regions", get_regions, NULL, "Region of each element, read-only int32 (e,).", NULL},
    {0},
};

PyDoc_STRVAR(components_doc,
             "components($self, by_face, /)\n--\n\n"
             "Number of connected parts and the part of each element, int32 (e,).");
static PyObject *mesh_components(PyObject *self, PyObject *arg) {
  const rf_mesh *m = self_mesh(self);
  const int by_face = PyObject_IsTrue(arg);
  if (by_face < 0) return NULL;
  PyObject *label = py_new_i32(1, (npy_intp[]){m->n_elements});
  if (!label) return NULL;
  int32_t *to = py_i32(label), count;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_mesh_components(m, by_face != 0, to, &count, &err));
  label = py_result(py_state_of_object(self), st, &err, label);
  return label ? Py_BuildValue("iN", (int)count, label) : NULL;
}

PyDoc_STRVAR(pieces_doc,
             "pieces($self, labels, n_labels, by_face, /)\n--\n\n"
             "Number of connected parts within elements of one label, and the part of each\n"
             "element, int32 (e,).");
static PyObject *mesh_pieces(PyObject *self, PyObject *args) {
  const rf_mesh *m = self_mesh(self);
  PyObject *labels_obj, *piece = NULL;
  py_in labels = {0};
  int n_labels, by_face;
  int32_t count;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "Oip:pieces", &labels_obj, &n_labels, &by_face) ||
      py_in_i32(&labels, labels_obj, "labels", 1, (npy_intp[]){m->n_elements}, 0, n_labels - 1) < 0)
    return NULL;
  piece = py_new_i32(1, (npy_intp[]){m->n_elements});
  if (piece) {
    int32_t *to = py_i32(piece);
    PY_WITHOUT_GIL(st = rf_mesh_pieces(m, labels.data, n_labels, by_face != 0, to, &count, &err));
    piece = py_result(py_state_of_object(self), st, &err, piece);
  }
  py_in_release(&labels);
  return piece ? Py_BuildValue("iN", (int)count, piece) : NULL;
}

PyDoc_STRVAR(slabs_doc,
             "slabs($self, number, small, /)\n--\n\n"
             "Block of each element, int32 (e,): pieces of slabs along the longest side; those\n"
             "below the part small of the largest in their slab join others.");
static PyObject *mesh_slabs(PyObject *self, PyObject *args) {
  const rf_mesh *m = self_mesh(self);
  int number;
  double small;
  rf_error err = {0};
  rf_status st;
  if (!PyArg_ParseTuple(args, "id:slabs", &number, &small)) return NULL;
  PyObject *block = py_new_i32(1, (npy_intp[]){m->n_elements});
  if (!block) return NULL;
  int32_t *to = py_i32(block);
  PY_WITHOUT_GIL(st = rf_mesh_slabs(m, number, small, to, &err));
  return py_result(py_state_of_object(self), st, &err, block);
}

PyDoc_STRVAR(
    boundary_doc,
    "boundary($self, /)\n--\n\n"
    "Faces of one element only, int32 (f, 3), (f, 4) or (f, 6), and their elements, int32 (f,).");
static PyObject *mesh_boundary(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_mesh *m = self_mesh(self);
  rf_boundary b;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_mesh_boundary(m, &b, &err));
  if (st < 0) return py_raise(py_state_of_object(self), st, &err);
  PyObject *result = NULL;
  PyObject *nodes = py_new_i32(2, (npy_intp[]){b.n_faces, b.face_nodes});
  PyObject *element = py_new_i32(1, (npy_intp[]){b.n_faces});
  if (nodes && element) {
    memcpy(py_i32(nodes), b.nodes, (size_t)b.n_faces * (size_t)b.face_nodes * sizeof(int32_t));
    memcpy(py_i32(element), b.element, (size_t)b.n_faces * sizeof(int32_t));
    result = PyTuple_Pack(2, nodes, element);
  }
  PY_XDECREF(nodes, element);
  rf_boundary_free(&b);
  return result;
}

PyDoc_STRVAR(volumes_doc, "volumes($self, /)\n--\n\nVolume of each element in m^3, (e,).");
static PyObject *mesh_volumes(PyObject *self, PyObject *unused) {
  (void)unused;
  const rf_mesh *m = self_mesh(self);
  PyObject *volume = py_new_f64(1, (npy_intp[]){m->n_elements});
  if (volume) {
    double *to = py_f64(volume);
    PY_WITHOUT_GIL(rf_mesh_volumes(m, to));
  }
  return volume;
}

PyDoc_STRVAR(inverted_doc,
             "inverted($self, displacement, /)\n--\n\n"
             "Number of elements whose volume is not positive at displacements (n, 3).");
static PyObject *mesh_inverted(PyObject *self, PyObject *displacement) {
  const rf_mesh *m = self_mesh(self);
  py_in u;
  if (py_in_f64(&u, displacement, "displacement", 2, (npy_intp[]){m->n_nodes, 3}) < 0) return NULL;
  int32_t count;
  PY_WITHOUT_GIL(count = rf_mesh_inverted(m, u.data));
  py_in_release(&u);
  return PyLong_FromLong(count);
}

PyDoc_STRVAR(quadratic_doc,
             "quadratic($self, /)\n--\n\n"
             "Mesh of second-order elements, with the edge midpoints after the nodes.");
static PyObject *mesh_quadratic(PyObject *self, PyObject *unused) {
  (void)unused;
  rf_mesh *mesh = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_mesh_quadratic(self_mesh(self), &mesh, &err));
  return st < 0 ? py_raise(py_state_of_object(self), st, &err) : wrap(Py_TYPE(self), mesh);
}

static PyMethodDef mesh_methods[] = {
    {"components", mesh_components, METH_O, components_doc},
    {"pieces", mesh_pieces, METH_VARARGS, pieces_doc},
    {"slabs", mesh_slabs, METH_VARARGS, slabs_doc},
    {"boundary", mesh_boundary, METH_NOARGS, boundary_doc},
    {"volumes", mesh_volumes, METH_NOARGS, volumes_doc},
    {"inverted", mesh_inverted, METH_O, inverted_doc},
    {"quadratic", mesh_quadratic, METH_NOARGS, quadratic_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(mesh_doc,
             "Mesh(nodes, elements, regions=None, /)\n--\n\n"
             "Checked, immutable volume mesh; the public face is reducedfem.Mesh.");

static PyType_Spec spec = PY_SPEC("Mesh", py_object, {Py_tp_new, mesh_new},
                                  {Py_tp_dealloc, py_object_dealloc}, {Py_tp_getset, mesh_getset},
                                  {Py_tp_methods, mesh_methods}, {Py_tp_doc, (void *)mesh_doc});

PyDoc_STRVAR(voxelize_doc,
             "voxelize($module, vertices, triangles, resolution, fill, expand, progress, threads, "
             "/)\n--\n\n"
             "Mesh of the voxels that a surface touches and, with fill, of those inside:\n"
             "(mesh, n_touched, n_enclosed, n_doubtful, share of single sheets); without fill the\n"
             "numbers are 0.");
static PyObject *voxelize(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *result = NULL;
  int resolution, fill;
  double expand;
  py_run run;
  py_surface in = {0};
  if (PyArg_ParseTuple(args, "OOipdOi:voxelize", PY_SURFACE_ARGS(in), &resolution, &fill, &expand,
                       PY_RUN_ARGS(in)) &&
      py_surface_take(state, &in, &run) == 0) {
    const rf_voxel_settings set = {.resolution = resolution, .expand = expand, .fill = fill != 0};
    rf_mesh *mesh = NULL;
    rf_voxel_report report = {0};
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_voxelize(&in.view, &set, &run.run, &mesh, &report, &err));
    result = st < 0 ? py_raise(state, st, &err) : wrap(state->types[PY_MESH], mesh);
    if (result)
      result =
          Py_BuildValue("NLLLd", result, (long long)report.n_touched, (long long)report.n_enclosed,
                        (long long)report.n_doubtful, report.sheets);
  }
  py_surface_release(&in);
  return result;
}

static PyMethodDef functions[] = {
    {"voxelize", voxelize, METH_VARARGS, voxelize_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_mesh_room = {.types = {{PY_MESH, &spec}}, .functions = functions};
