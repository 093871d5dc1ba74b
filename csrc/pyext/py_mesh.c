// The types _core.Mesh and (see py_embedding.c) what is built on it.
#include "pyext/py_mesh.h"

#include "pyext/py_convert.h"

typedef struct py_mesh {
  PyObject_HEAD rf_mesh *mesh;
} py_mesh;

static const rf_mesh *self_mesh(PyObject *self) {
  return ((py_mesh *)self)->mesh;
}

const rf_mesh *py_mesh_get(py_state *state, PyObject *object) {
  if (Py_TYPE(object) == state->types[PY_MESH]) return self_mesh(object);
  py_fail(state, "InputTypeError", "mesh must be a reducedfem.Mesh, got %s",
          Py_TYPE(object)->tp_name);
  return NULL;
}

// takes the mesh over, also on failure
static PyObject *wrap(PyTypeObject *type, rf_mesh *mesh) {
  PyObject *self = type->tp_alloc(type, 0);
  if (!self) {
    rf_mesh_free(mesh);
    return NULL;
  }
  ((py_mesh *)self)->mesh = mesh;
  return self;
}

static PyObject *mesh_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *nodes_obj, *elements_obj, *regions_obj = Py_None, *result = NULL;
  if (kwargs && PyDict_GET_SIZE(kwargs) > 0) {
    PyErr_SetString(PyExc_TypeError, "Mesh takes no keyword arguments");
    return NULL;
  }
  if (!PyArg_ParseTuple(args, "OO|O:Mesh", &nodes_obj, &elements_obj, &regions_obj)) return NULL;

  py_in nodes = {0}, elements = {0}, regions = {0};
  rf_mesh *mesh = NULL;
  rf_error err = {0};
  if (py_in_f64(&nodes, nodes_obj, "nodes", 2, (npy_intp[]){PY_ANY, 3}) < 0) goto done;
  if (nodes.shape[0] < 1 || nodes.shape[0] > RF_MESH_MAX_NODES) {
    py_fail(state, "MeshError", "nodes has %zd rows; a mesh needs 4 to %d", nodes.shape[0],
            (int)RF_MESH_MAX_NODES);
    goto done;
  }
  if (py_in_i32(&elements, elements_obj, "elements", 2, (npy_intp[]){PY_ANY, PY_ANY}, 0,
                (int32_t)(nodes.shape[0] - 1)) < 0)
    goto done;
  if (elements.shape[0] < 1 || elements.shape[0] > INT32_MAX) {
    py_fail(state, "MeshError", "elements has %zd rows; a mesh needs 1 to %d", elements.shape[0],
            (int)INT32_MAX);
    goto done;
  }
  if (elements.shape[1] != 4 && elements.shape[1] != 8) {
    py_fail(
        state, "InputError",
        "elements must have shape (e, 4) for tetrahedra or (e, 8) for hexahedra, got (%zd, %zd)",
        elements.shape[0], elements.shape[1]);
    goto done;
  }
  if (regions_obj != Py_None &&
      py_in_i32(&regions, regions_obj, "regions", 1, &elements.shape[0], INT32_MIN, INT32_MAX) < 0)
    goto done;

  rf_status st;
  Py_BEGIN_ALLOW_THREADS st =
      rf_mesh_create((rf_element_type)elements.shape[1], (int32_t)nodes.shape[0], nodes.data,
                     (int32_t)elements.shape[0], elements.data, regions.data, &mesh, &err);
  Py_END_ALLOW_THREADS result = st < 0 ? py_raise(state, st, &err) : wrap(type, mesh);

done:
  py_in_release(&nodes);
  py_in_release(&elements);
  py_in_release(&regions);
  return result;
}

static void mesh_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  rf_mesh_free(((py_mesh *)self)->mesh);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyObject *get_nodes(PyObject *self, void *unused) {
  (void)unused;
  const rf_mesh *m = self_mesh(self);
  return py_view_f64(self, m->nodes, 2, (npy_intp[]){m->n_nodes, 3});
}

static PyObject *get_elements(PyObject *self, void *unused) {
  (void)unused;
  const rf_mesh *m = self_mesh(self);
  return py_view_i32(self, m->elements, 2, (npy_intp[]){m->n_elements, (npy_intp)m->type});
}

static PyObject *get_regions(PyObject *self, void *unused) {
  (void)unused;
  const rf_mesh *m = self_mesh(self);
  return py_view_i32(self, m->regions, 1, (npy_intp[]){m->n_elements});
}

static PyGetSetDef mesh_getset[] = {
    {"nodes", get_nodes, NULL, "Rest positions in m, read-only (n, 3).", NULL},
    {"elements", get_elements, NULL, "Node indices, read-only int32 (e, 4) or (e, 8).", NULL},
    {"regions", get_regions, NULL, "Region of each element, read-only int32 (e,).", NULL},
    {0},
};

PyDoc_STRVAR(mesh_doc,
             "Mesh(nodes, elements, regions=None, /)\n--\n\n"
             "Checked, immutable volume mesh; the public face is reducedfem.Mesh.");

static PyType_Slot mesh_slots[] = {
    {Py_tp_new, mesh_new},
    {Py_tp_dealloc, mesh_dealloc},
    {Py_tp_getset, mesh_getset},
    {Py_tp_doc, (void *)mesh_doc},
    {0, NULL},
};

PyType_Spec py_mesh_spec = {
    .name = "reducedfem._core.Mesh",
    .basicsize = sizeof(py_mesh),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = mesh_slots,
};
