// The types _core.Filling, the samples of a grid that are to be filled, and _core.Filler, which
// fills blocks of them in a worker.
#include "pyext/py_filling.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "pyext/py_convert.h"
#include "pyext/py_object.h"
#include "pyext/py_surface.h"
#include "sdf/build_blocks.h"

// ---- the caller's side -------------------------------------------------------------------

typedef struct filling {
  const rf_grid_filling *f;  // NULL after the call for which it was made
  const rf_run *run;
  int64_t done, count;  // blocks
  uint8_t *filled;      // per block
} filling;

static void release_filling(void *held) {
  filling *one = held;
  rf_free(one->filled);
  rf_free(one);
}

static PyObject *filling_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  return py_fail((py_state *)PyType_GetModuleState(type), PY_INPUT_TYPE_ERROR,
                 "a Filling is made by field_from_surface only, which passes it to a callable");
}

// Returns a filling that is under way; NULL with an exception set.
static filling *under_way(PyObject *self) {
  filling *one = py_held(self);
  if (one->f) return one;
  py_fail(py_state_of_object(self), PY_INPUT_ERROR, "the field of this Filling is complete");
  return NULL;
}

static filling *with_block(PyObject *self, long long index, rf_grid_block *block) {
  filling *one = under_way(self);
  if (!one) return NULL;
  if (index < 0 || index >= one->count) {
    PyErr_Format(PyExc_IndexError, "index must be between 0 and %lld, got %lld",
                 (long long)one->count - 1, index);
    return NULL;
  }
  rf_grid_block_at(one->f, index, block);
  return one;
}

static PyObject *copy_of(const void *data, int type, int ndim, const npy_intp *shape) {
  PyObject *out = PyArray_SimpleNew(ndim, (npy_intp *)shape, type);
  if (out)
    memcpy(PyArray_DATA((PyArrayObject *)out), data, (size_t)PyArray_NBYTES((PyArrayObject *)out));
  return out;
}

static PyObject *new_f32(const int32_t n[3]) {
  return PyArray_SimpleNew(3, ((npy_intp[]){n[0], n[1], n[2]}), NPY_FLOAT32);
}

static float *f32(PyObject *array) { return PyArray_DATA((PyArrayObject *)array); }

PyDoc_STRVAR(surface_doc,
             "surface($self, /)\n--\n\n"
             "Copies of the vertices (v, 3) and triangles (t, 3) of the surface to measure from.");
static PyObject *surface(PyObject *self, PyObject *unused) {
  (void)unused;
  const filling *one = under_way(self);
  if (!one) return NULL;
  const rf_surface *s = one->f->surface;
  return Py_BuildValue("NN", copy_of(s->vertices, NPY_FLOAT64, 2, (npy_intp[]){s->n_vertices, 3}),
                       copy_of(s->triangles, NPY_INT32, 2, (npy_intp[]){s->n_triangles, 3}));
}

PyDoc_STRVAR(block_doc,
             "block($self, index, /)\n--\n\n"
             "All data of one block, as a tuple for `Filler.fill`.");
static PyObject *block(PyObject *self, PyObject *args) {
  long long index;
  rf_grid_block b;
  if (!PyArg_ParseTuple(args, "L:block", &index)) return NULL;
  const filling *one = with_block(self, index, &b);
  if (!one) return NULL;
  const rf_grid_filling *f = one->f;
  PyObject *values = NULL, *coarse = NULL;
  if (rf_grid_rule_reads(f->rule)) {
    if (!(values = new_f32(b.n))) return NULL;
    rf_grid_block_read(f, &b, f32(values));
  }
  if (f->coarse) {
    if (!(coarse = new_f32(b.coarse_n))) {
      Py_XDECREF(values);
      return NULL;
    }
    rf_grid_block_coarse(f, &b, f32(coarse));
  }
  return Py_BuildValue("ii(ii)(iii)(ddd)(ddd)dddNN", (int)rf_packet_simd(f->simd), (int)f->rule,
                       (int)b.start[0], (int)b.start[1], (int)b.n[0], (int)b.n[1], (int)b.n[2],
                       f->origin[0], f->origin[1], f->origin[2], f->spacing[0], f->spacing[1],
                       f->spacing[2], f->turn, f->level, f->far,
                       values ? values : Py_NewRef(Py_None), coarse ? coarse : Py_NewRef(Py_None));
}

PyDoc_STRVAR(put_doc,
             "put($self, index, values, /)\n--\n\n"
             "Store the samples of one block, float32, and report progress.");
static PyObject *put(PyObject *self, PyObject *args) {
  long long index;
  PyObject *values_obj;
  rf_grid_block b;
  py_in values = {0};
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "LO:put", &index, &values_obj)) return NULL;
  filling *one = with_block(self, index, &b);
  if (!one || py_in_f32(&values, values_obj, "values", 3, (npy_intp[]){b.n[0], b.n[1], b.n[2]}) < 0)
    return NULL;
  // the conversion runs the caller's code: the call may have ended meanwhile
  if (!under_way(self)) {
    py_in_release(&values);
    return NULL;
  }
  rf_grid_block_write(one->f, &b, values.data);
  py_in_release(&values);
  one->done += !one->filled[index];
  one->filled[index] = 1;
  // through the callback of the run, which takes the GIL once more
  const rf_status st = rf_run_progress(one->run, one->done, one->count, &err);
  return st < 0 ? py_raise(py_state_of_object(self), st, &err) : Py_NewRef(Py_None);
}

static PyObject *get_count(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(((filling *)py_held(self))->count);
}

static PyMethodDef filling_methods[] = {
    {"surface", surface, METH_NOARGS, surface_doc},
    {"block", block, METH_VARARGS, block_doc},
    {"put", put, METH_VARARGS, put_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef filling_getset[] = {
    {"count", get_count, NULL, "Number of blocks.", NULL},
    {0},
};

PyDoc_STRVAR(filling_doc,
             "Filling()\n--\n\n"
             "The samples of a field under way, in blocks that are filled independently; valid\n"
             "during the call that passes it.");

static PyType_Spec filling_spec =
    PY_SPEC("Filling", py_object, {Py_tp_new, filling_new}, {Py_tp_dealloc, py_object_dealloc},
            {Py_tp_methods, filling_methods}, {Py_tp_getset, filling_getset},
            {Py_tp_doc, (void *)filling_doc});

static filling *filling_of(const rf_grid_filling *f, const rf_run *run) {
  filling *one = rf_alloc(1, sizeof *one);
  if (!one) return NULL;
  *one = (filling){.f = f, .run = run, .count = rf_grid_blocks(f)};
  one->filled = rf_alloc((size_t)one->count, sizeof *one->filled);
  if (one->filled) return one;
  rf_free(one);
  return NULL;
}

rf_status py_filling_elsewhere(void *context, const rf_grid_filling *f, const rf_run *run,
                               rf_error *err) {
  const py_filling_call *call = context;
  filling *one = filling_of(f, run);
  if (!one) return rf_fail(err, RF_ERR_MEMORY, "out of memory");
  const PyGILState_STATE gil = PyGILState_Ensure();
  // the exception stays pending in this thread; py_raise keeps it
  rf_status st = RF_ERR_INTERRUPTED;
  PyObject *self = py_object_new(call->state->types[PY_FILLING], one, release_filling, NULL);
  PyObject *result = self ? PyObject_CallOneArg(call->callable, self) : NULL;
  if (result) {
    st = RF_OK;
    if (one->done < one->count)
      st = rf_fail(err, RF_ERR_ARG, "%lld of %lld blocks of samples were filled",
                   (long long)one->done, (long long)one->count);
  } else {
    rf_fail(err, RF_ERR_INTERRUPTED, "interrupted");
  }
  if (self) one->f = NULL;
  PY_XDECREF(result, self);
  PyGILState_Release(gil);
  return st;
}

// ---- the worker's side -------------------------------------------------------------------

static void release_closest(void *held) { rf_closest_free(held); }

static PyObject *filler_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *vertices, *triangles, *self = NULL;
  int threads;
  py_run run;
  py_surface in = {0};
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOi:Filler", &vertices, &triangles, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  if (py_in_surface(state, &in, vertices, triangles) == 0) {
    rf_closest *closest = NULL;
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_closest_create(&in.view, &run.run, &closest, &err));
    self = st < 0 ? py_raise(state, st, &err) : py_object_new(type, closest, release_closest, NULL);
  }
  py_surface_release(&in);
  return self;
}

// Checks the numbers of a block: 0, or -1 with an exception set.
static int check_block(py_state *state, const rf_grid_filling *f, int rule) {
  rf_error err = {0};
  const rf_status st = rf_simd_check(f->simd, &err);
  if (st < 0) {
    py_raise(state, st, &err);
    return -1;
  }
  bool good = rule >= RF_SIGN_NONE && rule <= RF_SIGN_NEARER && f->n[2] >= 1 && isfinite(f->turn) &&
              isfinite(f->level) && isfinite(f->far);
  for (int c = 0; c < 2; ++c)
    good = good && f->start[c] >= 0 && f->start[c] % RF_PACKET == 0 && f->n[c] >= 1 &&
           f->n[c] <= INT32_MAX - f->start[c] - RF_PACKET;
  for (int c = 0; c < 3; ++c)
    good = good && isfinite(f->origin[c]) && isfinite(f->spacing[c]) && f->spacing[c] > 0.0;
  if (good && (double)f->n[0] * f->n[1] * f->n[2] <= INT32_MAX) return 0;
  py_fail(state, PY_INPUT_ERROR, "block is no block of a Filling: its numbers are out of range");
  return -1;
}

// Parses the tuple of a block, all but its arrays.
static int parse_block(py_state *state, PyObject *data, rf_grid_filling *f, PyObject **values,
                       PyObject **coarse) {
  int simd, rule;
  if (!PyTuple_Check(data)) {
    py_fail(state, PY_INPUT_TYPE_ERROR, "block must be a tuple of Filling.block, got %s",
            Py_TYPE(data)->tp_name);
    return -1;
  }
  if (!PyArg_ParseTuple(data, "ii(ii)(iii)(ddd)(ddd)dddOO:block", &simd, &rule, &f->start[0],
                        &f->start[1], &f->n[0], &f->n[1], &f->n[2], &f->origin[0], &f->origin[1],
                        &f->origin[2], &f->spacing[0], &f->spacing[1], &f->spacing[2], &f->turn,
                        &f->level, &f->far, values, coarse))
    return -1;
  f->simd = (rf_simd)simd;
  f->rule = (rf_sign_rule)rule;
  return check_block(state, f, rule);
}

PyDoc_STRVAR(fill_doc,
             "fill($self, block, threads, /)\n--\n\n"
             "Samples (n0, n1, n2), float32, of a block of `Filling`.");
static PyObject *fill(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  PyObject *data, *values_obj, *coarse_obj, *out = NULL;
  int threads;
  py_run run;
  py_in values = {0}, coarse = {0};
  rf_grid_filling f = {.closest = py_held(self)};
  if (!PyArg_ParseTuple(args, "Oi:fill", &data, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0 ||
      parse_block(state, data, &f, &values_obj, &coarse_obj) < 0)
    return NULL;
  if (coarse_obj != Py_None) {
    for (int c = 0; c < 3; ++c) f.coarse_n[c] = (f.n[c] + RF_FAST_STEP - 1) / RF_FAST_STEP + 1;
    if (py_in_f32(&coarse, coarse_obj, "coarse", 3,
                  (npy_intp[]){f.coarse_n[0], f.coarse_n[1], f.coarse_n[2]}) < 0)
      return NULL;
    f.coarse = coarse.data;
  }
  if (rf_grid_rule_reads(f.rule) &&
      py_in_f32(&values, values_obj, "values", 3, (npy_intp[]){f.n[0], f.n[1], f.n[2]}) < 0)
    goto done;
  if (!(out = new_f32(f.n))) goto done;
  f.values = f32(out);
  if (values.data) memcpy(f.values, values.data, (size_t)PyArray_NBYTES(values.array));
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_grid_fill_here(&f, &run.run, &err));
  out = py_result(state, st, &err, out);
done:
  PY_IN_RELEASE(&values, &coarse);
  return out;
}

static PyMethodDef filler_methods[] = {
    {"fill", fill, METH_VARARGS, fill_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(filler_doc,
             "Filler(vertices, triangles, threads, /)\n--\n\n"
             "The tree of a surface, which fills blocks of samples of its distance.");

static PyType_Spec filler_spec =
    PY_SPEC("Filler", py_object, {Py_tp_new, filler_new}, {Py_tp_dealloc, py_object_dealloc},
            {Py_tp_methods, filler_methods}, {Py_tp_doc, (void *)filler_doc});

const py_room py_filling_room = {.types = {{PY_FILLING, &filling_spec}, {PY_FILLER, &filler_spec}}};
