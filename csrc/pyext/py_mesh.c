// The type _core.Mesh, and the functions on surfaces that need no type.
#include "pyext/py_mesh.h"

#include <string.h>

#include "mesh/surface.h"
#include "mesh/tet10.h"
#include "mesh/topology.h"
#include "mesh/voxelize.h"
#include "pyext/py_convert.h"

typedef struct py_mesh {
  PyObject_HEAD rf_mesh *mesh;
} py_mesh;

static const rf_mesh *self_mesh(PyObject *self) { return ((py_mesh *)self)->mesh; }

const rf_mesh *py_mesh_get(py_state *state, PyObject *object) {
  return py_require_type(state, object, PY_MESH, "mesh", "Mesh") < 0 ? NULL : self_mesh(object);
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
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
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
  if (elements.shape[1] != 4 && elements.shape[1] != 8 && elements.shape[1] != 10) {
    py_fail(state, "InputError",
            "elements must have shape (e, 4) or (e, 10) for tetrahedra or (e, 8) for hexahedra, "
            "got (%zd, %zd)",
            elements.shape[0], elements.shape[1]);
    goto done;
  }
  if (regions_obj != Py_None &&
      py_in_i32(&regions, regions_obj, "regions", 1, &elements.shape[0], INT32_MIN, INT32_MAX) < 0)
    goto done;

  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_mesh_create((rf_element_type)elements.shape[1], (int32_t)nodes.shape[0], nodes.data,
                      (int32_t)elements.shape[0], elements.data, regions.data, &mesh, &err);
  Py_END_ALLOW_THREADS
  result = st < 0 ? py_raise(state, st, &err) : wrap(type, mesh);

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
    {"elements", get_elements, NULL, "Node indices, read-only int32 (e, 4), (e, 8) or (e, 10).",
     NULL},
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
  Py_BEGIN_ALLOW_THREADS
  st = rf_mesh_components(m, by_face != 0, to, &count, &err);
  Py_END_ALLOW_THREADS
  label = py_result(py_state_of_object(self), st, &err, label);
  return label ? Py_BuildValue("iN", (int)count, label) : NULL;
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
  Py_BEGIN_ALLOW_THREADS
  st = rf_mesh_boundary(m, &b, &err);
  Py_END_ALLOW_THREADS
  if (st < 0) return py_raise(py_state_of_object(self), st, &err);
  PyObject *result = NULL;
  PyObject *nodes = py_new_i32(2, (npy_intp[]){b.n_faces, b.face_nodes});
  PyObject *element = py_new_i32(1, (npy_intp[]){b.n_faces});
  if (nodes && element) {
    memcpy(py_i32(nodes), b.nodes, (size_t)b.n_faces * (size_t)b.face_nodes * sizeof(int32_t));
    memcpy(py_i32(element), b.element, (size_t)b.n_faces * sizeof(int32_t));
    result = PyTuple_Pack(2, nodes, element);
  }
  Py_XDECREF(nodes);
  Py_XDECREF(element);
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
    Py_BEGIN_ALLOW_THREADS
    rf_mesh_volumes(m, to);
    Py_END_ALLOW_THREADS
  }
  return volume;
}

PyDoc_STRVAR(quadratic_doc,
             "quadratic($self, /)\n--\n\n"
             "Mesh of ten-node tetrahedra, with the middles of the edges after the nodes.");
static PyObject *mesh_quadratic(PyObject *self, PyObject *unused) {
  (void)unused;
  rf_mesh *mesh = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_mesh_quadratic(self_mesh(self), &mesh, &err);
  Py_END_ALLOW_THREADS
  return st < 0 ? py_raise(py_state_of_object(self), st, &err) : wrap(Py_TYPE(self), mesh);
}

static PyMethodDef mesh_methods[] = {
    {"components", mesh_components, METH_O, components_doc},
    {"boundary", mesh_boundary, METH_NOARGS, boundary_doc},
    {"volumes", mesh_volumes, METH_NOARGS, volumes_doc},
    {"quadratic", mesh_quadratic, METH_NOARGS, quadratic_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(mesh_doc,
             "Mesh(nodes, elements, regions=None, /)\n--\n\n"
             "Checked, immutable volume mesh; the public face is reducedfem.Mesh.");

static PyType_Slot mesh_slots[] = {
    {Py_tp_new, mesh_new},         {Py_tp_dealloc, mesh_dealloc}, {Py_tp_getset, mesh_getset},
    {Py_tp_methods, mesh_methods}, {Py_tp_doc, (void *)mesh_doc}, {0, NULL},
};

PyType_Spec py_mesh_spec = {
    .name = "reducedfem._core.Mesh",
    .basicsize = sizeof(py_mesh),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = mesh_slots,
};

// ---- surfaces -----------------------------------------------------------------

typedef struct surface_in {
  py_in vertices, triangles;
  rf_surface surface;
} surface_in;

static void release_surface(surface_in *in) {
  py_in_release(&in->vertices);
  py_in_release(&in->triangles);
}

// arrays of a surface, checked; to be released in any case
static int take_surface(py_state *state, surface_in *in, PyObject *vertices, PyObject *triangles) {
  *in = (surface_in){0};
  if (py_in_f64(&in->vertices, vertices, "vertices", 2, (npy_intp[]){PY_ANY, 3}) < 0) return -1;
  const npy_intp n = in->vertices.shape[0];
  if (n < 1 || n > INT32_MAX) {
    py_fail(state, "MeshError", "vertices has %zd rows; a surface needs 1 to %d", n,
            (int)INT32_MAX);
    return -1;
  }
  if (py_in_i32(&in->triangles, triangles, "triangles", 2, (npy_intp[]){PY_ANY, 3}, 0,
                (int32_t)(n - 1)) < 0)
    return -1;
  const npy_intp t = in->triangles.shape[0];
  if (t < 1 || t > INT32_MAX) {
    py_fail(state, "MeshError", "triangles has %zd rows; a surface needs 1 to %d", t,
            (int)INT32_MAX);
    return -1;
  }
  in->surface = (rf_surface){.n_vertices = (int32_t)n,
                             .n_triangles = (int32_t)t,
                             .vertices = in->vertices.data,
                             .triangles = in->triangles.data};
  return 0;
}

static PyObject *sealed_copy(py_in *in) {
  PyObject *copy = PyArray_NewCopy(in->array, NPY_CORDER);
  if (copy) PyArray_CLEARFLAGS((PyArrayObject *)copy, NPY_ARRAY_WRITEABLE);
  return copy;
}

PyDoc_STRVAR(seal_doc,
             "surface_seal($module, vertices, triangles, /)\n--\n\n"
             "Checked read-only copies of a surface's arrays, float64 (v, 3) and int32 (t, 3).");
static PyObject *surface_seal(PyObject *module, PyObject *args) {
  PyObject *vertices, *triangles, *result = NULL;
  if (!PyArg_ParseTuple(args, "OO:surface_seal", &vertices, &triangles)) return NULL;
  surface_in in;
  if (take_surface(py_state_of_module(module), &in, vertices, triangles) == 0) {
    PyObject *v = sealed_copy(&in.vertices), *t = v ? sealed_copy(&in.triangles) : NULL;
    if (t) result = PyTuple_Pack(2, v, t);
    Py_XDECREF(v);
    Py_XDECREF(t);
  }
  release_surface(&in);
  return result;
}

PyDoc_STRVAR(measure_doc,
             "surface_measure($module, vertices, triangles, /)\n--\n\n"
             "Tuple (lo, hi, area, volume, n_degenerate, closed, manifold).");
static PyObject *surface_measure(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *vertices, *triangles, *result = NULL;
  if (!PyArg_ParseTuple(args, "OO:surface_measure", &vertices, &triangles)) return NULL;
  surface_in in;
  if (take_surface(state, &in, vertices, triangles) == 0) {
    rf_surface_report report;
    rf_error err = {0};
    double lo[3], hi[3];
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    rf_surface_bounds(&in.surface, lo, hi);
    st = rf_surface_measure(&in.surface, &report, &err);
    Py_END_ALLOW_THREADS
    if (st < 0)
      py_raise(state, st, &err);
    else
      result = Py_BuildValue("(ddd)(ddd)ddiNN", lo[0], lo[1], lo[2], hi[0], hi[1], hi[2],
                             report.area, report.volume, (int)report.n_degenerate,
                             PyBool_FromLong(report.closed), PyBool_FromLong(report.manifold));
  }
  release_surface(&in);
  return result;
}

PyDoc_STRVAR(merge_doc,
             "surface_merge($module, vertices, /)\n--\n\n"
             "For each vertex the first one at exactly the same place, int32 (v,).");
static PyObject *surface_merge(PyObject *module, PyObject *arg) {
  py_state *state = py_state_of_module(module);
  py_in vertices;
  if (py_in_f64(&vertices, arg, "vertices", 2, (npy_intp[]){PY_ANY, 3}) < 0) return NULL;
  PyObject *result = NULL;
  if (vertices.shape[0] > INT32_MAX)
    py_fail(state, "InputError", "vertices has %zd rows; at most %d are allowed", vertices.shape[0],
            (int)INT32_MAX);
  else
    result = py_new_i32(1, &vertices.shape[0]);
  if (result) {
    rf_error err = {0};
    int32_t *first = py_i32(result);
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_surface_merge((int32_t)vertices.shape[0], vertices.data, first, &err);
    Py_END_ALLOW_THREADS
    result = py_result(state, st, &err, result);
  }
  py_in_release(&vertices);
  return result;
}

PyDoc_STRVAR(voxelize_doc,
             "voxelize($module, vertices, triangles, resolution, fill, expand, progress, threads, "
             "/)\n--\n\n"
             "Mesh of the voxels that a surface touches and, with fill, encloses.");
static PyObject *voxelize(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *vertices, *triangles, *progress, *result = NULL;
  int resolution, fill, threads;
  double expand;
  if (!PyArg_ParseTuple(args, "OOipdOi:voxelize", &vertices, &triangles, &resolution, &fill,
                        &expand, &progress, &threads))
    return NULL;
  py_run run;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  surface_in in;
  if (take_surface(state, &in, vertices, triangles) == 0) {
    const rf_voxel_settings set = {.resolution = resolution, .expand = expand, .fill = fill != 0};
    rf_mesh *mesh = NULL;
    rf_error err = {0};
    rf_status st;
    Py_BEGIN_ALLOW_THREADS
    st = rf_voxelize(&in.surface, &set, &run.run, &mesh, &err);
    Py_END_ALLOW_THREADS
    result = st < 0 ? py_raise(state, st, &err) : wrap(state->types[PY_MESH], mesh);
  }
  release_surface(&in);
  return result;
}

PyDoc_STRVAR(surface_normals_doc,
             "surface_normals($module, vertices, triangles, /)\n--\n\n"
             "Unit normals of the vertices (v, 3), weighted by angles.");
static PyObject *surface_normals(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *vertices, *triangles, *out = NULL;
  if (!PyArg_ParseTuple(args, "OO:surface_normals", &vertices, &triangles)) return NULL;
  surface_in in;
  if (take_surface(state, &in, vertices, triangles) == 0) {
    out = py_new_f64(2, (npy_intp[]){in.surface.n_vertices, 3});
    if (out) {
      double *to = py_f64(out);
      rf_error err = {0};
      rf_status st;
      Py_BEGIN_ALLOW_THREADS
      st = rf_surface_normals(&in.surface, to, &err);
      Py_END_ALLOW_THREADS
      out = py_result(state, st, &err, out);
    }
  }
  release_surface(&in);
  return out;
}

PyDoc_STRVAR(cast_doc,
             "surface_cast($module, vertices, triangles, origin, direction, /)\n--\n\n"
             "What a ray hits first: (triangle, distance, a, b, c) with barycentric coordinates;\n"
             "triangle -1: nothing.");
static PyObject *surface_cast(PyObject *module, PyObject *args) {
  PyObject *vertices, *triangles, *origin_obj, *direction_obj, *result = NULL;
  if (!PyArg_ParseTuple(args, "OOOO:surface_cast", &vertices, &triangles, &origin_obj,
                        &direction_obj))
    return NULL;
  surface_in in;
  py_in origin = {0}, direction = {0};
  const npy_intp three = 3;
  if (take_surface(py_state_of_module(module), &in, vertices, triangles) == 0 &&
      py_in_f64(&origin, origin_obj, "origin", 1, &three) == 0 &&
      py_in_f64(&direction, direction_obj, "direction", 1, &three) == 0) {
    rf_hit hit;
    Py_BEGIN_ALLOW_THREADS
    hit = rf_surface_cast(&in.surface, origin.data, direction.data);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("idddd", hit.triangle, hit.distance, hit.barycentric[0],
                           hit.barycentric[1], hit.barycentric[2]);
  }
  release_surface(&in);
  py_in_release(&origin);
  py_in_release(&direction);
  return result;
}

PyMethodDef py_mesh_functions[] = {
    {"surface_seal", surface_seal, METH_VARARGS, seal_doc},
    {"surface_measure", surface_measure, METH_VARARGS, measure_doc},
    {"surface_normals", surface_normals, METH_VARARGS, surface_normals_doc},
    {"surface_cast", surface_cast, METH_VARARGS, cast_doc},
    {"surface_merge", surface_merge, METH_O, merge_doc},
    {"voxelize", voxelize, METH_VARARGS, voxelize_doc},
    {NULL, NULL, 0, NULL},
};
