// Reduced models by cubatures: their making from a solid and from arrays.
#include <string.h>

#include "base/alloc.h"
#include "cubature/build.h"
#include "dynamics/statics.h"
#include "model/sampled.h"
#include "pyext/py_fields.h"
#include "pyext/py_law.h"
#include "pyext/py_projected.h"
#include "pyext/py_reduced.h"

PyDoc_STRVAR(draw_doc,
             "draw_poses($module, projected, count, strain, seed, progress, threads, /)\n--\n\n"
             "Equilibria (count, r) of a projected solid under random loads, for training.");
static PyObject *draw_poses(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *object, *progress;
  int count, threads;
  double strain;
  unsigned long long seed;
  py_run run;
  if (!PyArg_ParseTuple(args, "OidKOi:draw_poses", &object, &count, &strain, &seed, &progress,
                        &threads))
    return NULL;
  const rf_projected *model = py_projected_get(state, object);
  if (!model || py_run_init(state, &run, progress, threads) < 0) return NULL;
  if (count < 1) return py_fail(state, PY_INPUT_ERROR, "count must be at least 1, got %d", count);
  PyObject *out = py_new_f64(2, (npy_intp[]){count, model->r});
  rf_error err = {0};
  rf_status st = RF_OK;
  if (!out) return NULL;
  double *q = py_f64(out);
  PY_WITHOUT_GIL(st = rf_statics_draw_poses(model, &run.run, count, strain, seed, q, &err));
  return py_result(state, st, &err, out);
}

PyDoc_STRVAR(reduce_doc,
             "reduce_sampled($module, solid, basis, poses, points, tolerance, progress, threads, "
             "simd=0, drawn=0.0, /)\n--\n\n"
             "Reduced model with a cubature trained by poses (k, r), every fifth of which is held\n"
             "out, and its report as a dict. drawn: strain for which they were drawn; 0: given.");
static PyObject *reduce_sampled(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *solid, *vectors, *poses_obj, *progress;
  int threads, points, simd = RF_SIMD_BEST;
  double tolerance, drawn = 0.0;
  py_fields basis;
  py_in poses = {0};
  if (!PyArg_ParseTuple(args, "OOOidOi|id:reduce_sampled", &solid, &vectors, &poses_obj, &points,
                        &tolerance, &progress, &threads, &simd, &drawn) ||
      py_basis_in(state, &basis, solid, vectors, progress, threads) < 0)
    return NULL;
  if (py_in_f64(&poses, poses_obj, "poses", 2, (npy_intp[]){PY_ANY, basis.count}) < 0) {
    py_fields_release(&basis);
    return NULL;
  }
  const rf_cubature_settings set = {.points = points,
                                    .tolerance = tolerance,
                                    .n_poses = (int32_t)poses.shape[0],
                                    .poses = poses.data,
                                    .drawn = drawn};
  rf_cubature_report report;
  rf_reduced *model = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_reduced_build_sampled(basis.solid, &basis.run.run, basis.count, basis.data,
                                               &set, (rf_simd)simd, &model, &report, &err));
  py_in_release(&poses);
  py_fields_release(&basis);
  if (st < 0) return py_raise(state, st, &err);
  PyObject *wrapped = py_reduced_wrap(state, model);
  if (!wrapped) return NULL;
  return Py_BuildValue("N{s:i,s:i,s:L,s:i,s:d,s:d,s:d,s:d,s:d}", wrapped, "training_poses",
                       (int)report.training, "held_out_poses", (int)report.held_out, "candidates",
                       (long long)report.candidates, "exercised", (int)report.exercised, "strain",
                       report.strain, "training_error", report.training_error, "error",
                       report.error, "largest_error", report.largest_error, "frequency_error",
                       report.frequency_error);
}

// Arrays of a cubature.
typedef struct arrays {
  py_in basis, mass, nodes, gradients, weights, points, linear;
  rf_material *materials;
  int32_t n_materials;
} arrays;

static void release(arrays *a) {
  py_in *const all[] = {&a->basis,   &a->mass,   &a->nodes, &a->gradients,
                        &a->weights, &a->points, &a->linear};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) py_in_release(all[i]);
  rf_free(a->materials);
}

static int arrays_in(py_state *state, PyObject *args, arrays *a, int *simd) {
  PyObject *basis, *mass, *gradients, *weights, *points, *materials, *linear, *nodes;
  if (!PyArg_ParseTuple(args, "OOOOOOOO|i:sampled", &basis, &mass, &gradients, &weights, &points,
                        &materials, &linear, &nodes, simd) ||
      py_materials_in(state, materials, &a->materials, &a->n_materials) < 0 ||
      py_in_f64(&a->basis, basis, "basis", 3, (npy_intp[]){PY_ANY, PY_ANY, 3}) < 0)
    return -1;
  const npy_intp r = a->basis.shape[0], n = a->basis.shape[1];
  if (r < 1 || r > RF_CUBATURE_MAX_R || n > INT32_MAX / 3) {
    py_fail(state, PY_INPUT_ERROR, "basis must have 1 to %d vectors, got %zd of %zd nodes",
            RF_CUBATURE_MAX_R, (Py_ssize_t)r, (Py_ssize_t)n);
    return -1;
  }
  if (py_in_f64(&a->mass, mass, "mass", 2, (npy_intp[]){r, r}) < 0 ||
      py_in_f64(&a->gradients, gradients, "gradients", 3, (npy_intp[]){PY_ANY, 9, r}) < 0)
    return -1;
  const npy_intp p = a->gradients.shape[0];
  if (py_in_f64(&a->weights, weights, "weights", 1, &p) < 0 ||
      py_in_i32(&a->points, points, "points", 1, &p, 0, INT32_MAX) < 0 ||
      (linear != Py_None && py_in_f64(&a->linear, linear, "linear", 2, (npy_intp[]){r, r}) < 0) ||
      (nodes != Py_None && py_in_f64(&a->nodes, nodes, "nodes", 2, (npy_intp[]){n, 3}) < 0))
    return -1;
  return 0;
}

static rf_status create(const arrays *a, rf_simd simd, rf_reduced **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_cubature_material *materials = NULL;
  rf_cubature *cubature = NULL;
  *out = NULL;
  RF_ALLOC(materials, a->n_materials);
  for (int32_t m = 0; m < a->n_materials; ++m) {
    materials[m].law = a->materials[m].law;
    memcpy(materials[m].parameter, a->materials[m].parameter, sizeof materials[m].parameter);
  }
  const rf_cubature_parts parts = {.r = (int32_t)a->basis.shape[0],
                                   .n_points = (int32_t)a->gradients.shape[0],
                                   .n_materials = a->n_materials,
                                   .gradient = a->gradients.data,
                                   .weight = a->weights.data,
                                   .material = a->points.data,
                                   .materials = materials,
                                   .linear = a->linear.data};
  RF_TRY(rf_cubature_create(&parts, simd, &cubature, err));
  st = rf_reduced_create_sampled((int32_t)a->basis.shape[1], a->nodes.data, a->basis.data,
                                 a->mass.data, cubature, out, err);
done:
  rf_free(materials);
  return st;
}

PyDoc_STRVAR(sampled_doc,
             "sampled($module, basis, mass, gradients, weights, points, materials, linear, nodes, "
             "simd=0, /)\n--\n\n"
             "Reduced model with the cubature of these gradients (p, 9, r), weights (p,) and\n"
             "materials of points (p,), indices into materials as of a Solid; linear (r, r) and\n"
             "nodes (n, 3) may be None.");
static PyObject *sampled(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  arrays a = {0};
  int simd = RF_SIMD_BEST;
  rf_reduced *model = NULL;
  rf_error err = {0};
  if (arrays_in(state, args, &a, &simd) < 0) {
    release(&a);
    return NULL;
  }
  rf_status st;
  PY_WITHOUT_GIL(st = create(&a, (rf_simd)simd, &model, &err));
  release(&a);
  return st < 0 ? py_raise(state, st, &err) : py_reduced_wrap(state, model);
}

static PyMethodDef functions[] = {
    {"draw_poses", draw_poses, METH_VARARGS, draw_doc},
    {"reduce_sampled", reduce_sampled, METH_VARARGS, reduce_doc},
    {"sampled", sampled, METH_VARARGS, sampled_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_cubature_room = {.functions = functions};
