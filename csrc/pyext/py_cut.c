// Meshes with partly filled elements, and their quadrature rules.
#include <string.h>

#include "base/alloc.h"
#include "mesh/cut.h"
#include "pyext/py_convert.h"
#include "pyext/py_mesh.h"
#include "pyext/py_object.h"
#include "pyext/py_surface.h"

static void release(void *mesh) { rf_mesh_free(mesh); }

PyDoc_STRVAR(
    cut_doc,
    "cut($module, mesh, vertices, triangles, order, progress, threads, /)\n--\n\n"
    "Mesh of equal cubes that a surface encloses at least in part, with quadrature rules,\n"
    "and the numbers of cells: cut, empty, islands, sheets and dense.");
static PyObject *cut(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *mesh_obj, *vertices, *triangles, *progress, *result = NULL;
  int order, threads;
  py_run run;
  if (!PyArg_ParseTuple(args, "OOOiOi:cut", &mesh_obj, &vertices, &triangles, &order, &progress,
                        &threads))
    return NULL;
  const rf_mesh *cubes = py_mesh_get(state, mesh_obj);
  if (!cubes || py_run_init(state, &run, progress, threads) < 0) return NULL;
  py_surface in = {0};
  if (py_in_surface(state, &in, vertices, triangles) == 0) {
    rf_mesh *mesh = NULL;
    rf_cut_report report;
    rf_error err = {0};
    rf_status st;
    PY_WITHOUT_GIL(st = rf_mesh_cut(cubes, &in.view, order, &run.run, &mesh, &report, &err));
    PyObject *made = st < 0 ? py_raise(state, st, &err)
                            : py_object_new(state->types[PY_MESH], mesh, release, NULL);
    if (made)
      result = Py_BuildValue("N(iiiii)", made, (int)report.n_cut, (int)report.n_empty,
                             (int)report.n_islands, (int)report.n_sheets, (int)report.n_dense);
  }
  py_surface_release(&in);
  return result;
}

PyDoc_STRVAR(
    rule_doc,
    "mesh_rule($module, mesh, /)\n--\n\n"
    "Quadrature rules of cut elements: counts of points, int32 (e,), points (p, 3) in local\n"
    "coordinates, weights (p,), products (cut elements, pairs of nodes); None if all elements\n"
    "are whole.");
static PyObject *mesh_rule(PyObject *module, PyObject *mesh_obj) {
  const rf_mesh *mesh = py_mesh_get(py_state_of_module(module), mesh_obj);
  if (!mesh) return NULL;
  const rf_rule *r = mesh->rule;
  if (!r) Py_RETURN_NONE;
  const npy_intp points = (npy_intp)r->ptr[mesh->n_elements];
  const npy_intp pairs = (npy_intp)mesh->type * ((npy_intp)mesh->type + 1) / 2;
  PyObject *count = py_new_i32(1, (npy_intp[]){mesh->n_elements});
  if (!count) return NULL;
  for (int32_t e = 0; e < mesh->n_elements; ++e)
    py_i32(count)[e] = (int32_t)(r->ptr[e + 1] - r->ptr[e]);
  return Py_BuildValue(
      "NNNN", count, py_view_f64(mesh_obj, r->point, 2, (npy_intp[]){points, 3}),
      py_view_f64(mesh_obj, r->weight, 1, &points),
      py_view_f64(mesh_obj, r->product, 2, (npy_intp[]){rf_mesh_cut_count(mesh), pairs}));
}

// Returns a copy of the mesh with this rule.
static rf_status copy_with_rule(const rf_mesh *from, const int32_t *count, const rf_rule *arrays,
                                int64_t n_points, int64_t n_products, rf_mesh **out,
                                rf_error *err) {
  rf_status st = RF_OK;
  rf_rule rule = *arrays;
  rf_mesh *mesh = NULL;
  RF_ALLOC(rule.ptr, (int64_t)from->n_elements + 1);
  for (int32_t e = 0; e < from->n_elements; ++e) rule.ptr[e + 1] = rule.ptr[e] + count[e];
  RF_TRY(rf_mesh_create(from->type, from->n_nodes, from->nodes, from->n_elements, from->elements,
                        from->regions, &mesh, err));
  if (from->constraints) RF_TRY(rf_mesh_set_constraints(mesh, from->constraints, err));
  RF_TRY(rf_mesh_set_rule(mesh, &rule, n_points, n_products, err));
  *out = mesh;
  mesh = NULL;
done:
  rf_free(rule.ptr);
  rf_mesh_free(mesh);
  return st;
}

PyDoc_STRVAR(with_rule_doc,
             "mesh_with_rule($module, mesh, counts, points, weights, products, /)\n--\n\n"
             "Copy of the mesh with quadrature rules as returned by mesh_rule.");
static PyObject *mesh_with_rule(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *mesh_obj, *count_obj, *point_obj, *weight_obj, *product_obj, *result = NULL;
  if (!PyArg_ParseTuple(args, "OOOOO:mesh_with_rule", &mesh_obj, &count_obj, &point_obj,
                        &weight_obj, &product_obj))
    return NULL;
  const rf_mesh *mesh = py_mesh_get(state, mesh_obj);
  if (!mesh) return NULL;
  py_in count = {0}, point = {0}, weight = {0}, product = {0};
  if (py_in_i32(&count, count_obj, "counts", 1, (npy_intp[]){mesh->n_elements}, 0, INT32_MAX) < 0 ||
      py_in_f64(&point, point_obj, "points", 2, (npy_intp[]){PY_ANY, 3}) < 0 ||
      py_in_f64(&weight, weight_obj, "weights", 1, point.shape) < 0 ||
      py_in_f64(&product, product_obj, "products", 2, (npy_intp[]){PY_ANY, PY_ANY}) < 0)
    goto done;
  const rf_rule arrays = {.point = point.data, .weight = weight.data, .product = product.data};
  rf_mesh *made = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = copy_with_rule(mesh, count.data, &arrays, point.shape[0],
                                     (int64_t)product.shape[0] * product.shape[1], &made, &err));
  result = st < 0 ? py_raise(state, st, &err)
                  : py_object_new(state->types[PY_MESH], made, release, NULL);
done:
  PY_IN_RELEASE(&count, &point, &weight, &product);
  return result;
}

static PyMethodDef functions[] = {
    {"cut", cut, METH_VARARGS, cut_doc},
    {"mesh_rule", mesh_rule, METH_O, rule_doc},
    {"mesh_with_rule", mesh_with_rule, METH_VARARGS, with_rule_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_cut_room = {.functions = functions};
