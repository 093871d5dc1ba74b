// Constrained nodes of meshes, and graded meshes.
#include <string.h>

#include "base/alloc.h"
#include "mesh/grade.h"
#include "mesh/grade_tets.h"
#include "mesh/hanging.h"
#include "mesh/topology.h"
#include "mesh/touching.h"
#include "pyext/py_convert.h"
#include "pyext/py_mesh.h"
#include "pyext/py_object.h"
#include "pyext/py_solid.h"

static void release(void *mesh) { rf_mesh_free(mesh); }

static PyObject *wrap(py_state *state, rf_status st, rf_error *err, rf_mesh *mesh) {
  return st < 0 ? py_raise(state, st, err)
                : py_object_new(state->types[PY_MESH], mesh, release, NULL);
}

PyDoc_STRVAR(constraints_doc,
             "mesh_constraints($module, mesh, /)\n--\n\n"
             "Constrained nodes (k,), offsets (k + 1,), masters and weights of a mesh; None.");
static PyObject *mesh_constraints(PyObject *module, PyObject *mesh_obj) {
  const rf_mesh *mesh = py_mesh_get(py_state_of_module(module), mesh_obj);
  if (!mesh) return NULL;
  const rf_constraints *c = mesh->constraints;
  if (!c) Py_RETURN_NONE;
  const npy_intp masters = c->ptr[c->n];
  return Py_BuildValue("NNNN", py_view_i32(mesh_obj, c->slaves, 1, (npy_intp[]){c->n}),
                       py_view_i32(mesh_obj, c->ptr, 1, (npy_intp[]){(npy_intp)c->n + 1}),
                       py_view_i32(mesh_obj, c->masters, 1, &masters),
                       py_view_f64(mesh_obj, c->weights, 1, &masters));
}

PyDoc_STRVAR(partly_doc,
             "mesh_partly_covered($module, mesh, /)\n--\n\n"
             "First element with a face that smaller ones cover in part only; -1: there is none.");
static PyObject *mesh_partly_covered(PyObject *module, PyObject *mesh_obj) {
  py_state *state = py_state_of_module(module);
  const rf_mesh *mesh = py_mesh_get(state, mesh_obj);
  if (!mesh) return NULL;
  int32_t element;
  rf_error err = {0};
  const rf_status st = rf_mesh_partly_covered(mesh, &element, &err);
  return st < 0 ? py_raise(state, st, &err) : PyLong_FromLong(element);
}

// Returns a copy of the mesh with these constraints.  With `rounded`, constrained nodes at places
// of single precision move to the mean of their masters; *out is NULL if one is elsewhere.
static rf_status copy_with(const rf_mesh *from, const rf_constraints *c, bool rounded,
                           rf_mesh **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_mesh *mesh = NULL;
  double *nodes = NULL;
  bool fit = true;
  if (rounded) {
    RF_TRY(rf_mesh_constraints_fit(from, c, &fit, err));
    if (!fit) goto done;
    RF_ALLOC(nodes, 3 * (int64_t)from->n_nodes);
    memcpy(nodes, from->nodes, 3 * (size_t)from->n_nodes * sizeof *nodes);
    rf_constraints_fill_rt(c, nodes);
  }
  RF_TRY(rf_mesh_create(from->type, from->n_nodes, nodes ? nodes : from->nodes, from->n_elements,
                        from->elements, from->regions, &mesh, err));
  RF_TRY(rf_mesh_set_constraints(mesh, c, err));
  RF_TRY(rf_mesh_copy_rule(from, mesh, err));
  *out = mesh;
  mesh = NULL;
done:
  rf_free(nodes);
  rf_mesh_free(mesh);
  return st;
}

PyDoc_STRVAR(
    with_constraints_doc,
    "mesh_with_constraints($module, mesh, slaves, ptr, masters, weights, rounded, /)\n--\n\n"
    "Copy of the mesh with these constrained nodes in place of its own; if rounded, they\n"
    "move by single precision, and None is returned if one is elsewhere.");
static PyObject *mesh_with_constraints(PyObject *module, PyObject *args) {
  py_state *state = py_state_of_module(module);
  PyObject *mesh_obj, *slaves_obj, *ptr_obj, *masters_obj, *weights_obj, *result = NULL;
  int rounded;
  if (!PyArg_ParseTuple(args, "OOOOOp:mesh_with_constraints", &mesh_obj, &slaves_obj, &ptr_obj,
                        &masters_obj, &weights_obj, &rounded))
    return NULL;
  const rf_mesh *mesh = py_mesh_get(state, mesh_obj);
  if (!mesh) return NULL;
  py_in slaves = {0}, ptr = {0}, masters = {0}, weights = {0};
  if (py_in_i32(&slaves, slaves_obj, "slaves", 1, (npy_intp[]){PY_ANY}, 0, mesh->n_nodes - 1) < 0 ||
      py_in_i32(&masters, masters_obj, "masters", 1, (npy_intp[]){PY_ANY}, 0, mesh->n_nodes - 1) <
          0 ||
      py_in_f64(&weights, weights_obj, "weights", 1, masters.shape) < 0 ||
      py_in_i32(&ptr, ptr_obj, "ptr", 1, (npy_intp[]){slaves.shape[0] + 1}, 0, INT32_MAX) < 0)
    goto done;
  const int32_t *offsets = ptr.data;
  if (offsets[slaves.shape[0]] != masters.shape[0]) {
    py_fail(state, PY_INPUT_ERROR, "ptr must end with the number of masters, %zd, got %d",
            masters.shape[0], offsets[slaves.shape[0]]);
    goto done;
  }
  const rf_constraints c = {.n = (int32_t)slaves.shape[0],
                            .slaves = slaves.data,
                            .ptr = ptr.data,
                            .masters = masters.data,
                            .weights = weights.data};
  rf_mesh *made = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = copy_with(mesh, &c, rounded, &made, &err));
  result = st >= 0 && !made ? Py_NewRef(Py_None) : wrap(state, st, &err, made);
done:
  PY_IN_RELEASE(&slaves, &ptr, &masters, &weights);
  return result;
}

PyDoc_STRVAR(matrix_doc,
             "constraint_matrix($module, mesh, /)\n--\n\n"
             "T (n, independent nodes) of a mesh with constrained nodes, as CSC arrays (data,\n"
             "indices, indptr).");
static PyObject *constraint_matrix(PyObject *module, PyObject *mesh_obj) {
  py_state *state = py_state_of_module(module);
  const rf_mesh *mesh = py_mesh_get(state, mesh_obj);
  if (!mesh) return NULL;
  if (!mesh->constraints)
    return py_fail(state, PY_INPUT_ERROR, "mesh has no constrained nodes, so it has no matrix");
  rf_csc matrix = {0};
  rf_error err = {0};
  const rf_status st = rf_constraints_matrix(mesh->constraints, mesh->n_nodes, &matrix, &err);
  return st < 0 ? py_raise(state, st, &err) : py_csc_out(&matrix);
}

// Returns a copy of a field that `change` changes.
static PyObject *changed(PyObject *module, PyObject *args, const char *name,
                         void (*change)(const rf_constraints *, double *)) {
  PyObject *mesh_obj, *field_obj;
  py_in field;
  if (!PyArg_ParseTuple(args, "OO", &mesh_obj, &field_obj)) return NULL;
  const rf_mesh *mesh = py_mesh_get(py_state_of_module(module), mesh_obj);
  if (!mesh || py_in_field(&field, field_obj, name, mesh->n_nodes) < 0) return NULL;
  PyObject *out = py_new_f64(2, (npy_intp[]){mesh->n_nodes, 3});
  if (out) {
    memcpy(py_f64(out), field.data, 3 * (size_t)mesh->n_nodes * sizeof(double));
    change(mesh->constraints, py_f64(out));
  }
  py_in_release(&field);
  return out;
}

PyDoc_STRVAR(fill_doc,
             "constraints_fill($module, mesh, u, /)\n--\n\n"
             "Copy of a field (n, 3) in which constrained nodes follow their masters.");
static PyObject *constraints_fill(PyObject *module, PyObject *args) {
  return changed(module, args, "u", rf_constraints_fill_rt);
}

PyDoc_STRVAR(fold_doc,
             "constraints_fold($module, mesh, force, /)\n--\n\n"
             "Copy of forces (n, 3) in which those at constrained nodes act on their masters.");
static PyObject *constraints_fold(PyObject *module, PyObject *args) {
  return changed(module, args, "force", rf_constraints_fold_rt);
}

// A search of hanging nodes, without the GIL.
typedef rf_status search(const rf_mesh *mesh, const rf_run *run, int32_t *count, int32_t **rows,
                         rf_error *err);

// Returns the rows that a search finds, of `width` numbers each.
static PyObject *found(PyObject *module, PyObject *mesh_obj, search *find, int width) {
  py_state *state = py_state_of_module(module);
  const rf_mesh *mesh = py_mesh_get(state, mesh_obj);
  py_run run;
  if (!mesh || py_run_init(state, &run, NULL, 1) < 0) return NULL;
  int32_t count = 0, *rows = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = find(mesh, &run.run, &count, &rows, &err));
  if (st < 0) return py_raise(state, st, &err);
  PyObject *out = py_new_i32(width > 1 ? 2 : 1, (npy_intp[]){count, width});
  if (out && count) memcpy(py_i32(out), rows, (size_t)width * (size_t)count * sizeof *rows);
  rf_free(rows);
  return out;
}

PyDoc_STRVAR(hanging_doc,
             "hanging_nodes($module, mesh, /)\n--\n\n"
             "Nodes on edges and faces of elements that do not have them, without\n"
             "constraints: int32 (k,), ascending.");
static PyObject *hanging_nodes(PyObject *module, PyObject *mesh_obj) {
  return found(module, mesh_obj, rf_mesh_find_hanging, 1);
}

PyDoc_STRVAR(touching_doc,
             "touching_elements($module, mesh, /)\n--\n\n"
             "Pairs of elements whose faces lie on each other without common nodes or\n"
             "constraints: int32 (k, 2).");
static PyObject *touching_elements(PyObject *module, PyObject *mesh_obj) {
  return found(module, mesh_obj, rf_mesh_find_touching, 2);
}

PyDoc_STRVAR(constrain_doc,
             "constrain_hanging($module, mesh, /)\n--\n\n"
             "Copy of the mesh in which hanging nodes are constrained, too.");
static PyObject *constrain_hanging(PyObject *module, PyObject *mesh_obj) {
  py_state *state = py_state_of_module(module);
  const rf_mesh *mesh = py_mesh_get(state, mesh_obj);
  py_run run;
  if (!mesh || py_run_init(state, &run, NULL, 1) < 0) return NULL;
  rf_mesh *made = NULL;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_mesh_constrain_hanging(mesh, &run.run, &made, &err));
  return wrap(state, st, &err, made);
}

// Returns a graded mesh and the nodes of `mesh_obj` that are its nodes.
static PyObject *graded(PyObject *module, PyObject *mesh_obj, PyObject *progress,
                        const rf_grade_settings *set, bool tets) {
  py_state *state = py_state_of_module(module);
  const rf_mesh *cubes = py_mesh_get(state, mesh_obj);
  py_run run;
  if (!cubes || py_run_init(state, &run, progress, 1) < 0) return NULL;
  rf_mesh *made = NULL;
  int32_t *original = NULL;
  rf_error err = {0};
  rf_status st;
  Py_BEGIN_ALLOW_THREADS
  st = tets ? rf_mesh_grade_tets(cubes, set->layers, &run.run, &made, &original, &err)
            : rf_mesh_grade(cubes, set, &run.run, &made, &original, &err);
  Py_END_ALLOW_THREADS
  const npy_intp n = st < 0 ? 0 : made->n_nodes;
  PyObject *mesh = wrap(state, st, &err, made), *nodes = mesh ? py_new_i32(1, &n) : NULL;
  if (nodes) memcpy(py_i32(nodes), original, (size_t)n * sizeof *original);
  rf_free(original);
  if (nodes) return Py_BuildValue("NN", mesh, nodes);
  Py_XDECREF(mesh);
  return NULL;
}

PyDoc_STRVAR(
    grade_tets_doc,
    "grade_tets($module, mesh, layers, progress, /)\n--\n\n"
    "Graded mesh of tetrahedra of equal cubes, and the nodes of `mesh` that are its nodes,\n"
    "int32.");
static PyObject *grade_tets(PyObject *module, PyObject *args) {
  PyObject *mesh, *progress;
  rf_grade_settings set = {0};
  if (!PyArg_ParseTuple(args, "OiO:grade_tets", &mesh, &set.layers, &progress)) return NULL;
  return graded(module, mesh, progress, &set, true);
}

PyDoc_STRVAR(grade_doc,
             "grade($module, mesh, layers, max_level, progress, /)\n--\n\n"
             "Graded mesh of equal cubes, and the nodes of `mesh` that are its nodes, int32.");
static PyObject *grade(PyObject *module, PyObject *args) {
  PyObject *mesh, *progress;
  rf_grade_settings set;
  if (!PyArg_ParseTuple(args, "OiiO:grade", &mesh, &set.layers, &set.max_level, &progress))
    return NULL;
  return graded(module, mesh, progress, &set, false);
}

PyDoc_STRVAR(levels_doc,
             "mesh_levels($module, mesh, /)\n--\n\n"
             "Level of each element, 0 for the smallest, int32 (e,).");
static PyObject *mesh_levels(PyObject *module, PyObject *mesh_obj) {
  const rf_mesh *mesh = py_mesh_get(py_state_of_module(module), mesh_obj);
  if (!mesh) return NULL;
  PyObject *levels = py_new_i32(1, (npy_intp[]){mesh->n_elements});
  if (levels) rf_mesh_levels(mesh, py_i32(levels));
  return levels;
}

static const py_constant constants[] = {{"GRADE_MAX_LEVEL", RF_GRADE_MAX_LEVEL, false},
                                        {NULL, 0.0, false}};

static PyMethodDef functions[] = {
    {"mesh_constraints", mesh_constraints, METH_O, constraints_doc},
    {"mesh_partly_covered", mesh_partly_covered, METH_O, partly_doc},
    {"mesh_with_constraints", mesh_with_constraints, METH_VARARGS, with_constraints_doc},
    {"constraint_matrix", constraint_matrix, METH_O, matrix_doc},
    {"constraints_fill", constraints_fill, METH_VARARGS, fill_doc},
    {"constraints_fold", constraints_fold, METH_VARARGS, fold_doc},
    {"hanging_nodes", hanging_nodes, METH_O, hanging_doc},
    {"touching_elements", touching_elements, METH_O, touching_doc},
    {"constrain_hanging", constrain_hanging, METH_O, constrain_doc},
    {"grade", grade, METH_VARARGS, grade_doc},
    {"grade_tets", grade_tets, METH_VARARGS, grade_tets_doc},
    {"mesh_levels", mesh_levels, METH_O, levels_doc},
    {NULL, NULL, 0, NULL},
};

const py_room py_grade_room = {.functions = functions, .constants = constants};
