// The type _core.DeformedField: distances to an object that a reduced model deforms.
#include "pyext/py_deformed_field.h"

#include <string.h>

#include "base/alloc.h"
#include "deform/domains.h"
#include "pyext/py_convert.h"
#include "pyext/py_embedding.h"
#include "pyext/py_field.h"
#include "pyext/py_mesh.h"
#include "pyext/py_object.h"
#include "pyext/py_reduced.h"

static const rf_deformed_field *self_field(PyObject *self) { return py_held(self); }

const rf_deformed_field *py_deformed_field_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_DEFORMED_FIELD, "field", "DeformedField");
}

static void release(void *field) { rf_deformed_field_free(field); }

static PyObject *deformed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *fields_obj, *first_obj, *model_obj, *mesh_obj, *embedding_obj, *points_obj;
  PyObject *self = NULL;
  rf_deformed_settings set;
  int threads, simd = RF_SIMD_BEST;
  py_run run;
  py_in first = {0}, points = {0};
  const rf_field **fields = NULL;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "O!OOOOOidi|i:DeformedField", &PyTuple_Type, &fields_obj, &first_obj,
                        &model_obj, &mesh_obj, &embedding_obj, &points_obj, &set.k, &set.safety,
                        &threads, &simd))
    return NULL;
  set.simd = (rf_simd)simd;
  const rf_reduced *model = py_reduced_get(state, model_obj);
  const rf_mesh *mesh = model ? py_mesh_get(state, mesh_obj) : NULL;
  const rf_embedding *embedding = mesh ? py_embedding_get(state, embedding_obj) : NULL;
  if (!embedding || py_run_init(state, &run, NULL, threads) < 0) return NULL;
  const Py_ssize_t n_domains = PyTuple_GET_SIZE(fields_obj);
  if (n_domains < 1 || n_domains > RF_DEFORMED_MAX_PROXIES)
    return py_fail(state, PY_INPUT_ERROR, "there may be 1 to %d domains, got %zd",
                   (int)RF_DEFORMED_MAX_PROXIES, n_domains);
  if (py_in_i32(&first, first_obj, "first", 1, (npy_intp[]){n_domains + 1}, 0, INT32_MAX) < 0 ||
      py_in_f64(&points, points_obj, "proxies", 2, (npy_intp[]){embedding->n_points, 3}) < 0)
    goto done;
  fields = rf_alloc((size_t)n_domains, sizeof *fields);
  if (!fields) {
    PyErr_NoMemory();
    goto done;
  }
  for (Py_ssize_t d = 0; d < n_domains; ++d) {
    fields[d] = py_field_get(state, PyTuple_GET_ITEM(fields_obj, d));
    if (!fields[d]) goto done;
  }
  rf_deformed_field *made = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = rf_deformed_field_create((int32_t)n_domains, fields, first.data, model, mesh, embedding,
                                points.data, &set, &run.run, &made, &err);
  Py_END_ALLOW_THREADS
  // the deformed field borrows the fields at rest
  self = st < 0 ? py_raise(state, st, &err) : py_object_new(type, made, release, fields_obj);
done:
  rf_free((void *)fields);
  PY_IN_RELEASE(&first, &points);
  return self;
}

PyDoc_STRVAR(evaluate_doc,
             "evaluate($self, q, points, gradient, threads, /)\n--\n\n"
             "(distance (n,), gradient (n, 3) or None, nearest proxy (n,)) at points (n, 3).");
static PyObject *evaluate(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  const rf_deformed_field *f = self_field(self);
  PyObject *q_obj, *points_obj, *result = NULL;
  PyObject *distance = NULL, *gradient = NULL, *nearest = NULL;
  py_in q = {0}, points = {0};
  int with_gradient, threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "OOpi:evaluate", &q_obj, &points_obj, &with_gradient, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  if (py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){f->r}) < 0 ||
      py_in_f64(&points, points_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) < 0)
    goto done;
  const npy_intp n = points.shape[0];
  distance = py_new_f64(1, (npy_intp[]){n});
  gradient = with_gradient ? py_new_f64(2, (npy_intp[]){n, 3}) : Py_NewRef(Py_None);
  nearest = py_new_i32(1, (npy_intp[]){n});
  if (!distance || !gradient || !nearest) goto done;
  double *to = py_f64(distance), *slope = with_gradient ? py_f64(gradient) : NULL;
  int32_t *proxy = py_i32(nearest);
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_deformed_field_evaluate(f, &run.run, q.data, (int32_t)n, points.data, to,
                                                 slope, proxy, &err));
  result = st < 0 ? py_raise(state, st, &err) : PyTuple_Pack(3, distance, gradient, nearest);
done:
  PY_XDECREF(distance, gradient, nearest);
  PY_IN_RELEASE(&q, &points);
  return result;
}

PyDoc_STRVAR(pose_doc,
             "pose($self, q, /)\n--\n\n"
             "Positions of the proxies (m, 3), F^-1 as used (m, 3, 3), and the number of flat F.");
static PyObject *pose(PyObject *self, PyObject *q_obj) {
  py_state *state = py_state_of_object(self);
  const rf_deformed_field *f = self_field(self);
  PyObject *places = NULL, *inverses = NULL, *result = NULL;
  py_in q = {0};
  rf_deformed_pose *p = NULL;
  if (py_in_f64(&q, q_obj, "q", 1, (npy_intp[]){f->r}) < 0) return NULL;
  rf_error err = {0};
  rf_status st = rf_deformed_pose_create(f, &p, &err);
  if (st == RF_OK && !rf_deformed_pose_update_rt(f, q.data, p))
    st = rf_fail(&err, RF_ERR_ARG, "q is so large that positions of proxies overflow");
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  places = py_new_f64(2, (npy_intp[]){f->n_proxies, 3});
  inverses = py_new_f64(3, (npy_intp[]){f->n_proxies, 3, 3});
  if (!places || !inverses) goto done;
  for (int32_t d = 0; d < f->n_domains; ++d)
    for (int32_t i = f->first[d]; i < f->first[d + 1]; ++i) {
      const int32_t slot = f->slot[d] + i - f->first[d];
      for (int c = 0; c < 3; ++c) py_f64(places)[3 * i + c] = p->place[c * f->n_slots + slot];
      for (int c = 0; c < 9; ++c)
        py_f64(inverses)[9 * i + c] = p->map[16 * i + 4 * (c % 3) + c / 3];
    }
  result = Py_BuildValue("OOi", places, inverses, (int)p->flat);
done:
  PY_XDECREF(places, inverses);
  rf_deformed_pose_free(p);
  py_in_release(&q);
  return result;
}

PyDoc_STRVAR(project_doc,
             "project($self, proxies, forces, /)\n--\n\n"
             "Reduced force (r,) of forces (k, 3) near proxies (k,).");
static void push(const void *field, int32_t n, const int32_t *proxy, const double *force,
                 double *to) {
  for (int32_t i = 0; i < n; ++i) rf_deformed_field_push_rt(field, proxy[i], force + 3 * i, to);
}
static PyObject *project(PyObject *self, PyObject *args) {
  const rf_deformed_field *f = self_field(self);
  return py_project(args, f, "proxies", "forces", f->n_proxies, f->r, push);
}

PY_GETTER(get_motion, self, rf_deformed_field, f,
          py_view_f64(self, f->modes, 3, (npy_intp[]){f->n_proxies, f->r, 12}))

static PyGetSetDef getset[] = {
    {"modes", get_motion, NULL, "U and grad U at the proxies, read-only (m, r, 12).", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"evaluate", evaluate, METH_VARARGS, evaluate_doc},
    {"pose", pose, METH_O, pose_doc},
    {"project", project, METH_VARARGS, project_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(deformed_doc,
             "DeformedField(fields, first, model, mesh, embedding, proxies, k, safety, threads, "
             "simd=0, /)\n--\n\n"
             "Fields at rest, one per domain, deformed with a Reduced by proxies (m, 3); those of\n"
             "domain d are first[d] to first[d+1] - 1.");

static PyType_Spec spec = PY_SPEC_KEEPING(
    "DeformedField", py_object, {Py_tp_new, deformed_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, methods}, {Py_tp_getset, getset}, {Py_tp_doc, (void *)deformed_doc});

// ---- domains ------------------------------------------------------------------------------

// Returns (members, values, first sample) of a domain.
static PyObject *domain_parts(const rf_deformed_domain *d, int32_t n_points) {
  PyObject *members = PyArray_SimpleNew(1, ((npy_intp[]){n_points}), NPY_BOOL);
  PyObject *values = PyArray_SimpleNew(3, ((npy_intp[]){d->n[0], d->n[1], d->n[2]}), NPY_FLOAT32);
  PyObject *result = NULL;
  if (members && values) {
    const size_t count = (size_t)d->n[0] * (size_t)d->n[1] * (size_t)d->n[2];
    memcpy(PyArray_DATA((PyArrayObject *)members), d->member, (size_t)n_points);
    memcpy(PyArray_DATA((PyArrayObject *)values), d->values, count * sizeof(float));
    result = Py_BuildValue("OO(iii)", members, values, (int)d->from[0], (int)d->from[1],
                           (int)d->from[2]);
  }
  PY_XDECREF(members, values);
  return result;
}

PyDoc_STRVAR(cut_doc,
             "field_domains($module, field, proxies, labels, n, overlap, progress, threads, "
             "/)\n--\n\n"
             "Cut the Field of one grid into n domains: (overlap, labels of the proxies, list of\n"
             "(members, values, first sample)). labels None: seeds are chosen; overlap < 0: it is\n"
             "chosen.");
static PyObject *cut(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *field_obj, *points_obj, *labels_obj, *progress, *result = NULL;
  py_in points = {0}, labels = {0};
  int n, threads;
  double overlap;
  py_run run;
  if (!PyArg_ParseTuple(args, "OOOidOi:field_domains", &field_obj, &points_obj, &labels_obj, &n,
                        &overlap, &progress, &threads) ||
      py_run_init(state, &run, progress, threads) < 0)
    return NULL;
  const rf_field *field = py_field_get(state, field_obj);
  if (!field) return NULL;
  if (field->n_parts != 1 || !field->plain || field->parts[0].shape != RF_SHAPE_GRID ||
      field->parts[0].offset != 0.0)
    return py_fail(state, PY_INPUT_TYPE_ERROR,
                   "automatic domains need a DistanceField; for other fields give domains as pairs "
                   "(field, proxies)");
  if (py_in_f64(&points, points_obj, "proxies", 2, (npy_intp[]){PY_ANY, 3}) < 0) return NULL;
  if (labels_obj != Py_None &&
      py_in_i32(&labels, labels_obj, "domains", 1, points.shape, 0, INT32_MAX) < 0)
    goto done;
  rf_deformed_domains *made = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_deformed_domains_cut(field->parts[0].grid, (int32_t)points.shape[0],
                                              points.data, labels.data, n, overlap, &run.run, &made,
                                              &err));
  if (st < 0) {
    py_raise(state, st, &err);
    goto done;
  }
  PyObject *label = py_new_i32(1, points.shape), *list = PyList_New(made->n_domains);
  bool good = label && list;
  if (good) memcpy(py_i32(label), made->label, (size_t)made->n_points * sizeof(int32_t));
  for (int32_t d = 0; good && d < made->n_domains; ++d) {
    PyObject *parts = domain_parts(&made->domain[d], made->n_points);
    if (parts)
      PyList_SET_ITEM(list, d, parts);
    else
      good = false;
  }
  if (good) result = Py_BuildValue("dOO", made->overlap, label, list);
  PY_XDECREF(label, list);
  rf_deformed_domains_free(made);
done:
  PY_IN_RELEASE(&points, &labels);
  return result;
}

static PyMethodDef functions[] = {
    {"field_domains", cut, METH_VARARGS, cut_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_deformed_field_room = {.types = {{PY_DEFORMED_FIELD, &spec}},
                                        .functions = functions};
