// The type _core.Embedding.  It owns its data and does not keep the mesh.
#include "pyext/py_embedding.h"

#include "pyext/py_convert.h"
#include "pyext/py_mesh.h"
#include "pyext/py_object.h"

static const rf_embedding *self_embedding(PyObject *self) { return py_held(self); }

const rf_embedding *py_embedding_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_EMBEDDING, "embedding", "Embedding");
}

static void release(void *embedding) { rf_embedding_free(embedding); }

// Wraps a C embedding, taken over also on failure.
static PyObject *wrap(PyTypeObject *type, rf_embedding *embedding) {
  return py_object_new(type, embedding, release, NULL);
}

static PyObject *embedding_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *mesh_obj, *points_obj, *progress;
  int threads;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOi:Embedding", &mesh_obj, &points_obj, &progress, &threads))
    return NULL;
  const rf_mesh *mesh = py_mesh_get(state, mesh_obj);
  py_run run;
  if (!mesh || py_run_init(state, &run, progress, threads) < 0) return NULL;

  py_in points;
  if (py_in_f64(&points, points_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) < 0) return NULL;
  PyObject *self = NULL;
  rf_embedding *embedding = NULL;
  rf_error err = {0};
  if (points.shape[0] < 1) {
    py_fail(state, PY_INPUT_ERROR, "points has 0 rows; at least one is needed");
  } else {
    rf_status st;
    PY_WITHOUT_GIL(st = rf_embedding_create(mesh, (int32_t)points.shape[0], points.data, &run.run,
                                            &embedding, &err));
    self = st < 0 ? py_raise(state, st, &err) : wrap(type, embedding);
  }
  py_in_release(&points);
  return self;
}

PY_GETTER(get_elements, self, rf_embedding, e,
          py_view_i32(self, e->element, 1, (npy_intp[]){e->n_points}))
PY_GETTER(get_nodes, self, rf_embedding, e,
          py_view_i32(self, e->node, 2, (npy_intp[]){e->n_points, e->corners}))
PY_GETTER(get_weights, self, rf_embedding, e,
          py_view_f64(self, e->weight, 2, (npy_intp[]){e->n_points, e->corners}))
PY_GETTER(get_distance, self, rf_embedding, e,
          py_view_f64(self, e->distance, 1, (npy_intp[]){e->n_points}))

static PyGetSetDef embedding_getset[] = {
    {"elements", get_elements, NULL, "Element that carries each point, read-only int32 (v,).",
     NULL},
    {"nodes", get_nodes, NULL, "Nodes of that element, read-only int32 (v, 4) or (v, 8).", NULL},
    {"weights", get_weights, NULL, "Weight of each of these nodes, read-only (v, 4) or (v, 8).",
     NULL},
    {"distance", get_distance, NULL, "Distance to the mesh in m, 0 inside, read-only (v,).", NULL},
    {0},
};

// Interpolates fields on the nodes to a new array of this shape on the points.
static PyObject *interpolated(PyObject *self, const py_in *fields, int32_t n_fields, int threads,
                              int ndim, const npy_intp *shape) {
  PyObject *out = py_new_f64(ndim, shape);
  if (!out) return NULL;
  double *to = py_f64(out);
  const rf_run run = {.threads = threads};
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(
      st = rf_embedding_interpolate(self_embedding(self), &run, n_fields, fields->data, to, &err));
  return py_result(py_state_of_object(self), st, &err, out);
}

PyDoc_STRVAR(interpolate_doc,
             "interpolate($self, u, threads, /)\n--\n\n"
             "Interpolate a field on the nodes (n, 3) to the points (v, 3).");
static PyObject *interpolate(PyObject *self, PyObject *args) {
  const rf_embedding *e = self_embedding(self);
  PyObject *u_obj;
  int threads;
  if (!PyArg_ParseTuple(args, "Oi:interpolate", &u_obj, &threads)) return NULL;
  py_in u;
  if (py_in_field(&u, u_obj, "u", e->n_nodes) < 0) return NULL;
  PyObject *result = interpolated(self, &u, 1, threads, 2, (npy_intp[]){e->n_points, 3});
  py_in_release(&u);
  return result;
}

PyDoc_STRVAR(transfer_doc,
             "transfer($self, vectors, threads, /)\n--\n\n"
             "Interpolate fields on the nodes (r, n, 3) to the points (r, v, 3).");
static PyObject *transfer(PyObject *self, PyObject *args) {
  const rf_embedding *e = self_embedding(self);
  PyObject *vectors_obj, *result = NULL;
  int threads;
  if (!PyArg_ParseTuple(args, "Oi:transfer", &vectors_obj, &threads)) return NULL;
  py_in vectors;
  if (py_in_fields(&vectors, vectors_obj, "vectors", e->n_nodes) < 0) return NULL;
  const npy_intp r = vectors.shape[0];
  result = interpolated(self, &vectors, (int32_t)r, threads, 3, (npy_intp[]){r, e->n_points, 3});
  py_in_release(&vectors);
  return result;
}

PyDoc_STRVAR(distribute_doc,
             "distribute($self, f, /)\n--\n\n"
             "Distribute forces at the points (v, 3) to the nodes (n, 3).");
static PyObject *distribute(PyObject *self, PyObject *arg) {
  const rf_embedding *e = self_embedding(self);
  py_in f;
  if (py_in_field(&f, arg, "f", e->n_points) < 0) return NULL;
  PyObject *result = py_new_f64(2, (npy_intp[]){e->n_nodes, 3});
  if (result) {
    double *to = py_f64(result);
    PY_WITHOUT_GIL(rf_embedding_distribute(e, f.data, to));
  }
  py_in_release(&f);
  return result;
}

static PyMethodDef embedding_methods[] = {
    {"interpolate", interpolate, METH_VARARGS, interpolate_doc},
    {"transfer", transfer, METH_VARARGS, transfer_doc},
    {"distribute", distribute, METH_O, distribute_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(embedding_doc,
             "Embedding(mesh, points, progress, threads, /)\n--\n\n"
             "Points carried by a mesh; the public face is reducedfem.Embedding.");

static PyType_Spec spec =
    PY_SPEC("Embedding", py_object, {Py_tp_new, embedding_new}, {Py_tp_dealloc, py_object_dealloc},
            {Py_tp_getset, embedding_getset}, {Py_tp_methods, embedding_methods},
            {Py_tp_doc, (void *)embedding_doc});

const py_room py_embedding_room = {.types = {{PY_EMBEDDING, &spec}}};
