// The type _core.Skin: points with normals that a reduced model carries.
#include "model/skin.h"

#include "base/alloc.h"
#include "pyext/py_convert.h"
#include "pyext/py_embedding.h"
#include "pyext/py_mesh.h"
#include "pyext/py_object.h"
#include "pyext/py_reduced.h"

static const rf_skin *self_skin(PyObject *self) { return py_held(self); }

static void release(void *skin) { rf_skin_free(skin); }

static PyObject *skin_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *model_obj, *mesh_obj, *embedding_obj, *points_obj, *normals_obj, *progress;
  PyObject *self = NULL;
  py_in points = {0}, normals = {0};
  int threads;
  py_run run;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOOOOi:Skin", &model_obj, &mesh_obj, &embedding_obj, &points_obj,
                        &normals_obj, &progress, &threads))
    return NULL;
  const rf_reduced *model = py_reduced_get(state, model_obj);
  const rf_mesh *mesh = model ? py_mesh_get(state, mesh_obj) : NULL;
  const rf_embedding *embedding = mesh ? py_embedding_get(state, embedding_obj) : NULL;
  if (!embedding || py_run_init(state, &run, progress, threads) < 0) return NULL;
  const npy_intp shape[2] = {embedding->n_points, 3};
  if (py_in_f64(&points, points_obj, "points", 2, shape) < 0) goto done;
  if (normals_obj != Py_None && py_in_f64(&normals, normals_obj, "normals", 2, shape) < 0)
    goto done;
  rf_skin *skin = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_skin_create(model, mesh, embedding, points.data, normals.data, &run.run,
                                     &skin, &err));
  self = st < 0 ? py_raise(state, st, &err) : py_object_new(type, skin, release, NULL);
done:
  PY_IN_RELEASE(&points, &normals);
  return self;
}

// Computes positions (normals 0) or normals (1) of some or all points.
static PyObject *evaluate(PyObject *self, PyObject *args, int normals) {
  py_state *state = py_state_of_object(self);
  const rf_skin *s = self_skin(self);
  PyObject *q_obj, *which_obj, *out = NULL;
  py_in q = {0}, which = {0};
  int threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "OOi", &q_obj, &which_obj, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  if (py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){s->r}) < 0) goto done;
  if (which_obj != Py_None &&
      py_in_i32(&which, which_obj, "vertices", 1, (npy_intp[]){PY_ANY}, 0, s->n_points - 1) < 0)
    goto done;
  const npy_intp count = which_obj == Py_None ? s->n_points : which.shape[0];
  out = py_new_f64(2, (npy_intp[]){count, 3});
  if (!out) goto done;
  double *to = py_f64(out);
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_skin_evaluate(s, &run.run, q.data, (int32_t)count, which.data,
                                       normals ? NULL : to, normals ? to : NULL, &err));
  out = py_result(state, st, &err, out);
done:
  PY_IN_RELEASE(&q, &which);
  return out;
}

PyDoc_STRVAR(positions_doc,
             "positions($self, q, points, threads, /)\n--\n\n"
             "Positions of some points (indices, or None: all) at q.");
static PyObject *positions(PyObject *self, PyObject *args) { return evaluate(self, args, 0); }

PyDoc_STRVAR(normals_doc,
             "normals($self, q, points, threads, /)\n--\n\n"
             "Unit normals of some points (indices, or None: all) at q.");
static PyObject *normals(PyObject *self, PyObject *args) { return evaluate(self, args, 1); }

PyDoc_STRVAR(project_doc,
             "project($self, points, forces, /)\n--\n\n"
             "Reduced force (r,) of forces (k, 3) at points (k,).");
static void push(const void *skin, int32_t n, const int32_t *point, const double *force,
                 double *to) {
  rf_skin_project_rt(skin, n, point, force, to);
}
static PyObject *project(PyObject *self, PyObject *args) {
  const rf_skin *s = self_skin(self);
  return py_project(args, s, "where", "force", s->n_points, s->r, push);
}

PY_GETTER(get_motion, self, rf_skin, s,
          py_view_f64(self, s->motion, 3, (npy_intp[]){s->n_points, 3, s->r}))

static PyObject *get_tilt(PyObject *self, void *unused) {
  (void)unused;
  const rf_skin *s = self_skin(self);
  if (!s->tilt) Py_RETURN_NONE;
  return py_view_f64(self, s->tilt, 3, (npy_intp[]){s->n_points, 3, s->r});
}

static PyGetSetDef getset[] = {
    {"motion", get_motion, NULL, "U at the points, read-only (v, 3, r).", NULL},
    {"tilt", get_tilt, NULL, "Normal corrections, read-only (v, 3, r), or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"positions", positions, METH_VARARGS, positions_doc},
    {"normals", normals, METH_VARARGS, normals_doc},
    {"project", project, METH_VARARGS, project_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(skin_doc,
             "Skin(model, mesh, embedding, points, normals, progress, threads, /)\n--\n\n"
             "Points (v, 3) with normals (v, 3) or None, carried by a Reduced.");

static PyType_Spec spec =
    PY_SPEC("Skin", py_object, {Py_tp_new, skin_new}, {Py_tp_dealloc, py_object_dealloc},
            {Py_tp_methods, methods}, {Py_tp_getset, getset}, {Py_tp_doc, (void *)skin_doc});

const py_room py_skin_room = {.types = {{PY_SKIN, &spec}}};
