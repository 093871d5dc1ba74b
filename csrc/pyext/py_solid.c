// The type _core.Solid.
#include "pyext/py_solid.h"

#include <string.h>

#include "base/alloc.h"
#include "fem/mass_solve.h"
#include "fem/rigid.h"
#include "linalg/vector.h"
#include "pyext/py_convert.h"
#include "pyext/py_damping.h"
#include "pyext/py_law.h"
#include "pyext/py_mesh.h"
#include "pyext/py_object.h"
#include "pyext/py_source.h"
#include "pyext/py_statics.h"

static const rf_solid *self_solid(PyObject *self) { return py_held(self); }

const rf_solid *py_solid_get(py_state *state, PyObject *object) {
  return py_held_as(state, object, PY_SOLID, "solid", "Solid");
}

static int require_follows(py_state *state, py_in *in, npy_intp count, const char *name,
                           const rf_solid *s) {
  rf_error err = {0};
  const rf_constraints *c = s->mesh->constraints;
  const rf_status st =
      in->ndim == 3 ? rf_constraints_require_all(c, s->mesh->n_nodes, count, in->data, name, &err)
                    : rf_constraints_require(c, s->mesh->n_nodes, in->data, name, &err);
  if (st >= 0) return 0;
  py_in_release(in);
  py_raise(state, st, &err);
  return -1;
}

int py_in_motion(py_state *state, py_in *in, PyObject *object, const char *name,
                 const rf_solid *s) {
  if (py_in_field(in, object, name, s->mesh->n_nodes) < 0) return -1;
  return require_follows(state, in, 1, name, s);
}

int py_in_motions(py_state *state, py_in *in, PyObject *object, const char *name,
                  const rf_solid *s) {
  if (py_in_fields(in, object, name, s->mesh->n_nodes) < 0) return -1;
  return require_follows(state, in, in->shape[0], name, s);
}

static void release(void *solid) { rf_solid_free(solid); }

static PyObject *solid_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  py_state *state = (py_state *)PyType_GetModuleState(type);
  PyObject *mesh_obj, *materials_obj, *element_obj, *fixed_obj, *result = NULL;
  int quadrature = 2, simd = RF_SIMD_BEST;
  if (py_refuse_keywords(type, kwargs) < 0) return NULL;
  if (!PyArg_ParseTuple(args, "OOOO|ii:Solid", &mesh_obj, &materials_obj, &element_obj, &fixed_obj,
                        &quadrature, &simd))
    return NULL;
  const rf_mesh *mesh = py_mesh_get(state, mesh_obj);
  if (!mesh) return NULL;

  py_in element = {0}, fixed = {0};
  rf_material *materials = NULL;
  int32_t n_materials = 0;
  py_run run;
  rf_solid *solid = NULL;
  rf_error err = {0};
  rf_status st = RF_OK;
  if (py_run_init(state, &run, NULL, 1) < 0) return NULL;
  if (py_materials_in(state, materials_obj, &materials, &n_materials) < 0 ||
      py_in_i32(&element, element_obj, "element_material", 1, (npy_intp[]){mesh->n_elements}, 0,
                INT32_MAX) < 0 ||
      py_in_i32(&fixed, fixed_obj, "fixed", 1, (npy_intp[]){PY_ANY}, 0, mesh->n_nodes - 1) < 0)
    goto done;
  if (fixed.shape[0] > mesh->n_nodes) {
    py_fail(state, PY_INPUT_ERROR, "fixed has %zd rows; allowed are up to %d", fixed.shape[0],
            mesh->n_nodes);
    goto done;
  }
  const rf_solid_settings set = {.material = materials,
                                 .n_materials = n_materials,
                                 .element_material = element.data,
                                 .fixed = fixed.data,
                                 .n_fixed = (int32_t)fixed.shape[0],
                                 .quadrature = quadrature,
                                 .simd = (rf_simd)simd};
  PY_WITHOUT_GIL(st = rf_solid_create(mesh, &set, &run.run, &solid, &err));
  // the solid borrows the mesh
  result = st < 0 ? py_raise(state, st, &err) : py_object_new(type, solid, release, mesh_obj);
done:
  rf_free(materials);
  PY_IN_RELEASE(&element, &fixed);
  return result;
}

PyObject *py_csc_out(rf_csc *a) {
  const npy_intp nnz = a->colptr[a->cols], columns = a->cols + 1;
  PyObject *data = py_new_f64(1, &nnz), *indices = py_new_i32(1, &nnz);
  PyObject *indptr = py_new_i32(1, &columns), *result = NULL;
  if (data && indices && indptr) {
    memcpy(py_f64(data), a->val, (size_t)nnz * sizeof *a->val);
    memcpy(py_i32(indices), a->rowind, (size_t)nnz * sizeof *a->rowind);
    memcpy(py_i32(indptr), a->colptr, (size_t)columns * sizeof *a->colptr);
    result = PyTuple_Pack(3, data, indices, indptr);
  }
  PY_XDECREF(data, indices, indptr);
  rf_csc_free(a);
  return result;
}

PyDoc_STRVAR(mass_doc,
             "mass($self, lumped, /)\n--\n\n"
             "Full mass matrix as CSC arrays (data, indices, indptr).");
static PyObject *solid_mass(PyObject *self, PyObject *args) {
  int lumped;
  if (!PyArg_ParseTuple(args, "p:mass", &lumped)) return NULL;
  rf_csc matrix = {0};
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_solid_full_mass(self_solid(self), lumped != 0, &matrix, &err));
  if (st < 0) return py_raise(py_state_of_object(self), st, &err);
  return py_csc_out(&matrix);
}

static rf_status full_stiffness(const rf_solid *s, const rf_run *run, unsigned kind,
                                const double *u, rf_csc *matrix, rf_error *err) {
  rf_status st = RF_OK;
  double *blocks = NULL;
  RF_ALLOC(blocks, 9 * (int64_t)s->graph.ptr[s->mesh->n_nodes]);
  RF_TRY(rf_solid_evaluate_as(s, run, kind, u, NULL, NULL, blocks, err));
  if (u && !isfinite(rf_norm(9 * (int64_t)s->graph.ptr[s->mesh->n_nodes], blocks)))
    RF_TRY(rf_solid_require_defined(s, u, "u", err));
  RF_TRY(rf_solid_full_tangent(s, blocks, matrix, err));
done:
  rf_free(blocks);
  return st;
}

// Converts the arguments (u, threads) of an evaluation, with `definite` (nullable) of stiffness: 0,
// or -1 with an exception set.
static int evaluation_in(PyObject *self, PyObject *args, const char *format, int none_is_rest,
                         py_run *run, py_in *u, int *definite) {
  PyObject *u_obj;
  int threads;
  *u = (py_in){0};
  if (!PyArg_ParseTuple(args, format, &u_obj, &threads, definite)) return -1;
  if (py_run_init(py_state_of_object(self), run, NULL, threads) < 0) return -1;
  if (none_is_rest && u_obj == Py_None) return 0;
  return py_in_motion(py_state_of_object(self), u, u_obj, "u", self_solid(self));
}

PyDoc_STRVAR(stiffness_doc,
             "stiffness($self, u, threads, definite=False, /)\n--\n\n"
             "Full tangent stiffness at u (None: rest), on request semidefinite, as CSC arrays\n"
             "(data, indices, indptr).");
static PyObject *solid_stiffness(PyObject *self, PyObject *args) {
  const rf_solid *s = self_solid(self);
  py_run run;
  py_in u;
  int definite = 0;
  if (evaluation_in(self, args, "Oi|p:stiffness", 1, &run, &u, &definite) < 0) return NULL;
  rf_csc matrix = {0};
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(
      st = full_stiffness(s, &run.run, definite ? RF_TANGENT_DEFINITE : 0, u.data, &matrix, &err));
  py_in_release(&u);
  if (st < 0) return py_raise(py_state_of_object(self), st, &err);
  return py_csc_out(&matrix);
}

PyDoc_STRVAR(force_doc,
             "internal_force($self, u, threads, /)\n--\n\nInternal force dW/du at u, (n, 3).");
static PyObject *solid_internal_force(PyObject *self, PyObject *args) {
  const rf_solid *s = self_solid(self);
  py_run run;
  py_in u;
  if (evaluation_in(self, args, "Oi:internal_force", 0, &run, &u, NULL) < 0) return NULL;
  PyObject *force = py_new_f64(2, (npy_intp[]){s->mesh->n_nodes, 3});
  rf_error err = {0};
  rf_status st = RF_OK;
  if (force) {
    double *to = py_f64(force);
    Py_BEGIN_ALLOW_THREADS
    st = rf_solid_evaluate(s, &run.run, u.data, NULL, to, NULL, &err);
    if (st >= 0 && !isfinite(rf_norm(3 * (int64_t)s->mesh->n_nodes, to)))
      st = rf_solid_require_defined(s, u.data, "u", &err);
    Py_END_ALLOW_THREADS
  }
  py_in_release(&u);
  return py_result(py_state_of_object(self), st, &err, force);
}

PyDoc_STRVAR(gravity_doc,
             "gravity($self, acceleration, lumped, threads, /)\n--\n\n"
             "Nodal forces M a of a uniform acceleration a, (n, 3).");
static PyObject *solid_gravity(PyObject *self, PyObject *args) {
  const rf_solid *s = self_solid(self);
  py_state *state = py_state_of_object(self);
  PyObject *acceleration_obj;
  int lumped, threads;
  py_run run;
  py_in acceleration;
  if (!PyArg_ParseTuple(args, "Opi:gravity", &acceleration_obj, &lumped, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0 ||
      py_in_f64(&acceleration, acceleration_obj, "acceleration", 1, (npy_intp[]){3}) < 0)
    return NULL;
  const double *a = acceleration.data;
  const int64_t n = s->mesh->n_nodes;
  PyObject *force = py_new_f64(2, (npy_intp[]){n, 3});
  rf_error err = {0};
  rf_status st = RF_OK;
  if (force) {
    double *to = py_f64(force), *every = NULL;
    Py_BEGIN_ALLOW_THREADS
    if (lumped) {
      for (int64_t d = 0; d < 3 * n; ++d) to[d] = s->lumped[d / 3] * a[d % 3];
    } else if ((every = rf_alloc((size_t)n, 3 * sizeof *every))) {
      for (int64_t d = 0; d < 3 * n; ++d) every[d] = a[d % 3];
      st = rf_solid_mass_multiply(s, &run.run, 1, every, to, &err);
    } else {
      st = rf_fail(&err, RF_ERR_MEMORY, "out of memory: gravity on %lld nodes", (long long)n);
    }
    rf_free(every);
    Py_END_ALLOW_THREADS
  }
  py_in_release(&acceleration);
  return py_result(state, st, &err, force);
}

PyDoc_STRVAR(energy_doc, "strain_energy($self, u, threads, /)\n--\n\nStrain energy W at u, J.");
static PyObject *solid_strain_energy(PyObject *self, PyObject *args) {
  const rf_solid *s = self_solid(self);
  py_run run;
  py_in u;
  if (evaluation_in(self, args, "Oi:strain_energy", 0, &run, &u, NULL) < 0) return NULL;
  rf_error err = {0};
  rf_status st;
  double energy = 0.0;
  Py_BEGIN_ALLOW_THREADS
  st = rf_solid_evaluate(s, &run.run, u.data, &energy, NULL, NULL, &err);
  if (st >= 0 && !isfinite(energy)) st = rf_solid_require_defined(s, u.data, "u", &err);
  Py_END_ALLOW_THREADS
  py_in_release(&u);
  if (st < 0) return py_raise(py_state_of_object(self), st, &err);
  return PyFloat_FromDouble(energy);
}

PyDoc_STRVAR(
    measure_doc,
    "measure($self, u, kind, threads, /)\n--\n\n"
    "Means over elements at u: \"strain\" (Green), \"stress\" (Cauchy), Pa, (e, 3, 3), or\n"
    "\"von Mises stress\", Pa, (e,).");
static PyObject *solid_measure(PyObject *self, PyObject *args) {
  const rf_solid *s = self_solid(self);
  py_state *state = py_state_of_object(self);
  static const char *const kinds[] = {"strain", "stress", "von Mises stress"};
  PyObject *u_obj, *result;
  const char *name;
  int kind = 0, threads;
  py_run run;
  py_in u;
  if (!PyArg_ParseTuple(args, "Osi:measure", &u_obj, &name, &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  while (kind < 3 && strcmp(name, kinds[kind]) != 0) ++kind;
  if (kind == 3)
    return py_fail(state, PY_INPUT_ERROR,
                   "kind must be \"strain\", \"stress\" or \"von Mises stress\", got \"%s\"", name);
  if (py_in_motion(py_state_of_object(self), &u, u_obj, "u", s) < 0) return NULL;
  result = py_new_f64(kind < 2 ? 3 : 1, (npy_intp[]){s->mesh->n_elements, 3, 3});
  rf_error err = {0};
  rf_status st = RF_OK;
  if (result) {
    double *to = py_f64(result);
    PY_WITHOUT_GIL(st = rf_solid_measures(s, &run.run, u.data, kind == 0 ? to : NULL,
                                          kind == 1 ? to : NULL, kind == 2 ? to : NULL, &err));
  }
  py_in_release(&u);
  return py_result(state, st, &err, result);
}

PyDoc_STRVAR(
    inverted_doc,
    "inverted($self, u, /)\n--\n\n"
    "Number of elements that are inside out at displacements (n, 3), at a quadrature point.");
static PyObject *solid_inverted(PyObject *self, PyObject *displacement) {
  const rf_solid *s = self_solid(self);
  py_in u;
  if (py_in_motion(py_state_of_object(self), &u, displacement, "u", s) < 0) return NULL;
  int32_t count;
  PY_WITHOUT_GIL(count = rf_solid_inverted(s, u.data));
  py_in_release(&u);
  return PyLong_FromLong(count);
}

// Lists pointers to n_products consecutive fields.
static rf_status hessian_products(const rf_solid *s, const rf_run *run, int32_t count,
                                  const double *a, const double *b, double *out, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t step = 3 * (int64_t)s->mesh->n_nodes;
  const double **from_a = NULL, **from_b = NULL;
  double **to = NULL;
  RF_ALLOC(from_a, count);
  RF_ALLOC(from_b, count);
  RF_ALLOC(to, count);
  for (int32_t p = 0; p < count; ++p) {
    from_a[p] = a + p * step;
    from_b[p] = b + p * step;
    to[p] = out + p * step;
  }
  RF_TRY(rf_solid_hessian_product(s, run, count, from_a, from_b, to, err));
done:
  rf_free(from_a);
  rf_free(from_b);
  rf_free(to);
  return st;
}

PyDoc_STRVAR(hessian_doc,
             "hessian_product($self, a, b, progress, threads, /)\n--\n\n"
             "(H:a_p) b_p at rest for stacks a, b of shape (k, n, 3).");
static PyObject *solid_hessian_product(PyObject *self, PyObject *args) {
  const rf_solid *s = self_solid(self);
  py_state *state = py_state_of_object(self);
  PyObject *a_obj, *b_obj, *progress, *result = NULL;
  int threads;
  py_run run;
  py_in a = {0}, b = {0};
  if (!PyArg_ParseTuple(args, "OOOi:hessian_product", &a_obj, &b_obj, &progress, &threads))
    return NULL;
  if (py_run_init(state, &run, progress, threads) < 0) return NULL;
  if (py_in_motions(state, &a, a_obj, "a", s) < 0 || py_in_f64(&b, b_obj, "b", 3, a.shape) < 0 ||
      require_follows(state, &b, b.shape[0], "b", s) < 0)
    goto done;
  result = py_new_f64(3, a.shape);
  if (!result) goto done;
  rf_error err = {0};
  rf_status st;
  double *to = py_f64(result);
  PY_WITHOUT_GIL(st = hessian_products(s, &run.run, (int32_t)a.shape[0], a.data, b.data, to, &err));
  result = py_result(state, st, &err, result);
done:
  PY_IN_RELEASE(&a, &b);
  return result;
}

PyDoc_STRVAR(held_doc,
             "require_held($self, /)\n--\n\n"
             "Raise MeshError if some part of the solid could move without strain.");
static PyObject *solid_require_held(PyObject *self, PyObject *unused) {
  (void)unused;
  rf_error err = {0};
  rf_status st;
  PY_WITHOUT_GIL(st = rf_solid_require_held(self_solid(self), &err));
  if (st < 0) return py_raise(py_state_of_object(self), st, &err);
  Py_RETURN_NONE;
}

// Measures `runs` evaluations of force and, on request, a kind of tangent, in seconds.
static rf_status time_evaluations(const rf_solid *s, const rf_run *run, const double *u,
                                  int tangent, unsigned kind, int32_t runs, double *seconds,
                                  rf_error *err) {
  rf_status st = RF_OK;
  double *force = NULL, *blocks = NULL;
  RF_ALLOC(force, 3 * (int64_t)s->mesh->n_nodes);
  if (tangent) RF_ALLOC(blocks, 9 * (int64_t)s->graph.ptr[s->mesh->n_nodes]);
  for (int32_t k = 0; k < runs; ++k) {
    const double start = py_now_s();
    RF_TRY(rf_solid_evaluate_as(s, run, kind, u, NULL, force, blocks, err));
    seconds[k] = py_now_s() - start;
  }
done:
  rf_free(force);
  rf_free(blocks);
  return st;
}

PyDoc_STRVAR(
    time_doc,
    "time_evaluate($self, u, tangent, runs, threads, upper=False, definite=False, /)\n--\n\n"
    "Seconds (runs,) of evaluations of force and, on request, tangent blocks: all, or those\n"
    "on and above the diagonal, and made semidefinite or not.");
static PyObject *solid_time_evaluate(PyObject *self, PyObject *args) {
  const rf_solid *s = self_solid(self);
  py_state *state = py_state_of_object(self);
  PyObject *u_obj, *seconds = NULL;
  int tangent, runs, threads, upper = 0, definite = 0;
  py_run run;
  py_in u = {0};
  if (!PyArg_ParseTuple(args, "Opii|pp:time_evaluate", &u_obj, &tangent, &runs, &threads, &upper,
                        &definite))
    return NULL;
  const unsigned kind = (upper ? RF_TANGENT_UPPER : 0) | (definite ? RF_TANGENT_DEFINITE : 0);
  if (runs < 1) return py_fail(state, PY_INPUT_ERROR, "runs must be positive, got %d", runs);
  if (py_run_init(state, &run, NULL, threads) < 0) return NULL;
  if (py_in_field(&u, u_obj, "u", s->mesh->n_nodes) < 0) return NULL;
  seconds = py_new_f64(1, (npy_intp[]){runs});
  rf_error err = {0};
  rf_status st = RF_OK;
  if (seconds) {
    double *to = py_f64(seconds);
    PY_WITHOUT_GIL(st = time_evaluations(s, &run.run, u.data, tangent, kind, runs, to, &err));
  }
  py_in_release(&u);
  return py_result(state, st, &err, seconds);
}

PyDoc_STRVAR(rigid_body_doc,
             "rigid_body($self, threads, /)\n--\n\n"
             "(mass, centre (3,), inertia about it (3, 3)).");
static PyObject *solid_rigid_body(PyObject *self, PyObject *args) {
  py_state *state = py_state_of_object(self);
  int threads;
  py_run run;
  rf_rigid_body body;
  rf_error err = {0};
  if (!PyArg_ParseTuple(args, "i:rigid_body", &threads) ||
      py_run_init(state, &run, NULL, threads) < 0)
    return NULL;
  rf_status st;
  PY_WITHOUT_GIL(st = rf_solid_rigid_body(self_solid(self), &run.run, &body, &err));
  if (st < 0) return py_raise(state, st, &err);
  PyObject *centre = py_new_f64(1, (npy_intp[]){3}), *inertia = py_new_f64(2, (npy_intp[]){3, 3});
  PyObject *result = NULL;
  if (centre && inertia) {
    memcpy(py_f64(centre), body.centre, sizeof body.centre);
    memcpy(py_f64(inertia), body.inertia, sizeof body.inertia);
    result = Py_BuildValue("(dOO)", body.mass, centre, inertia);
  }
  PY_XDECREF(centre, inertia);
  return result;
}

static int source_in(py_state *state, PyObject *system, PyObject *strain_rate, py_source *s) {
  const rf_solid *solid = py_solid_get(state, system);
  if (!solid || py_viscosity_in(&s->viscosity, strain_rate, solid) < 0) return -1;
  s->model = solid, s->n = solid->mesh->n_nodes, s->ndim = 2;
  return 0;
}

const py_source_kind py_solid_source = {PY_SOLID, source_in};

static PyMethodDef solid_methods[] = {
    {"mass", solid_mass, METH_VARARGS, mass_doc},
    {"stiffness", solid_stiffness, METH_VARARGS, stiffness_doc},
    {"internal_force", solid_internal_force, METH_VARARGS, force_doc},
    {"gravity", solid_gravity, METH_VARARGS, gravity_doc},
    {"strain_energy", solid_strain_energy, METH_VARARGS, energy_doc},
    {"measure", solid_measure, METH_VARARGS, measure_doc},
    {"inverted", solid_inverted, METH_O, inverted_doc},
    {"hessian_product", solid_hessian_product, METH_VARARGS, hessian_doc},
    {"rigid_body", solid_rigid_body, METH_VARARGS, rigid_body_doc},
    {"require_held", solid_require_held, METH_NOARGS, held_doc},
    {"solve_static", py_solid_solve_static, METH_VARARGS, py_solid_static_doc},
    {"solve_loads", py_solid_solve_loads, METH_VARARGS, py_solid_loads_doc},
    {"time_evaluate", solid_time_evaluate, METH_VARARGS, time_doc},
    {0},
};

static PyObject *get_mesh(PyObject *self, void *unused) {
  (void)unused;
  return Py_NewRef(((py_object *)self)->kept);
}

PY_GETTER(get_fixed, self, rf_solid, s, py_view_i32(self, s->fixed, 1, (npy_intp[]){s->n_fixed}))
PY_GETTER(get_free, self, rf_solid, s, py_view_i32(self, s->free, 1, (npy_intp[]){s->n_free}))
PY_GETTER(get_lumped, self, rf_solid, s,
          py_view_f64(self, s->lumped, 1, (npy_intp[]){s->mesh->n_nodes}))
PY_GETTER(get_steps_lumped, self, rf_solid, s, PyBool_FromLong(rf_solid_steps_lumped(s)))
PY_GETTER(get_volume, self, rf_solid, s, PyFloat_FromDouble(s->total_volume))
PY_GETTER(get_n_gauss, self, rf_solid, s, PyLong_FromLong(s->n_gauss))
PY_GETTER(get_congruent, self, rf_solid, s, PyBool_FromLong(s->congruent))
PY_GETTER(get_simd, self, rf_solid, s, PyLong_FromLong(s->simd))
PY_GETTER(get_entries, self, rf_solid, s, PyLong_FromLong(s->graph.ptr[s->mesh->n_nodes]))

static PyGetSetDef solid_getset[] = {
    {"mesh", get_mesh, NULL, "The _core.Mesh.", NULL},
    {"fixed", get_fixed, NULL, "Fixed nodes, ascending, read-only int32.", NULL},
    {"free", get_free, NULL, "The other nodes, ascending, read-only int32.", NULL},
    {"lumped", get_lumped, NULL, "Lumped mass of the nodes, kg, read-only (n,).", NULL},
    {"steps_lumped", get_steps_lumped, NULL, "True if explicit steps use the lumped mass.", NULL},
    {"volume", get_volume, NULL, "Volume, m^3.", NULL},
    {"n_gauss", get_n_gauss, NULL, "Quadrature points per element.", NULL},
    {"congruent", get_congruent, NULL, "True if all elements are translates of one.", NULL},
    {"simd", get_simd, NULL, "Kernels in use: 1 plain, 2 AVX2, 3 AVX-512.", NULL},
    {"entries", get_entries, NULL, "Ordered pairs of adjacent nodes, themselves included.", NULL},
    {0},
};

PyDoc_STRVAR(
    solid_doc,
    "Solid(mesh, materials, element_material, fixed, quadrature=2, simd=0, /)\n--\n\n"
    "Immutable elastic solid; materials are tuples (law, parameters, density), see `laws`.\n"
    "The public face is reducedfem.Solid.");

static PyType_Spec spec = PY_SPEC_KEEPING(
    "Solid", py_object, {Py_tp_new, solid_new}, {Py_tp_dealloc, py_object_dealloc},
    {Py_tp_methods, solid_methods}, {Py_tp_getset, solid_getset}, {Py_tp_doc, (void *)solid_doc});

PyDoc_STRVAR(simd_doc,
             "simd_available($module, simd, /)\n--\n\n"
             "True if this processor has an instruction set: 1 plain, 2 AVX2, 3 AVX-512.");
static PyObject *simd_available(PyObject *module, PyObject *args) {
  (void)module;
  int simd;
  if (!PyArg_ParseTuple(args, "i:simd_available", &simd)) return NULL;
  return PyBool_FromLong(rf_simd_available((rf_simd)simd));
}

static PyMethodDef functions[] = {
    {"simd_available", simd_available, METH_VARARGS, simd_doc},
    {0},
};

const py_room py_solid_room = {.types = {{PY_SOLID, &spec}}, .functions = functions};
