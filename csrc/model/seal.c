#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/blas.h"
#include "linalg/vec3.h"
#include "mesh/mesh.h"
#include "model/reduced_model.h"

// Asymmetry tolerated in a matrix that was computed, saved and read again.
static const double ASYMMETRY = 1e-12;
// Least share of a vector's squared length that must be independent of the previous vectors;
// rounding leaves less than this of a dependent one for the largest r.
static const double INDEPENDENT = 1e-13;

enum { NODES_AT_ONCE = 128 };

static rf_status require_finite(const double *x, int64_t count, const char *name, rf_error *err) {
  for (int64_t i = 0; i < count; ++i)
    if (!isfinite(x[i]))
      return rf_fail(err, RF_ERR_ARG, "%s entry %lld is %g; all must be finite", name, (long long)i,
                     x[i]);
  return RF_OK;
}

rf_status rf_reduced_check_mass(int32_t r, const double *mass, rf_error *err) {
  rf_status st = RF_OK;
  double *factor = NULL;
  double largest = 0.0;
  RF_TRY(require_finite(mass, (int64_t)r * r, "reduced mass", err));
  for (int32_t i = 0; i < r * r; ++i) largest = fmax(largest, fabs(mass[i]));
  for (int32_t i = 0; i < r; ++i)
    for (int32_t j = 0; j < i; ++j)
      if (!(fabs(mass[i * r + j] - mass[j * r + i]) <= ASYMMETRY * largest))
        return rf_fail(err, RF_ERR_ARG, "reduced mass is not symmetric at [%d, %d]: %g and %g", i,
                       j, mass[i * r + j], mass[j * r + i]);
  RF_ALLOC(factor, r * r);
  memcpy(factor, mass, (size_t)r * (size_t)r * sizeof *mass);
  int info = 0;
  dpotrf_("L", &r, factor, &r, &info);
  // dpotrf may accept a nearly dependent basis by chance: name the first vector with almost no
  // independent part
  int32_t dependent = info > 0 ? info - 1 : -1;
  for (int32_t i = 0; dependent < 0 && i < r; ++i)
    if (!(factor[i * r + i] * factor[i * r + i] > INDEPENDENT * mass[i * r + i])) dependent = i;
  if (dependent >= 0 && mass[dependent * r + dependent] == 0.0)
    st = rf_fail(err, RF_ERR_SINGULAR,
                 "reduced mass is not positive definite: basis[%d] is zero; leave this vector out",
                 dependent);
  else if (dependent >= 0)
    st = rf_fail(err, RF_ERR_SINGULAR,
                 "reduced mass is not positive definite: the basis vectors are linearly dependent "
                 "(basis[%d] is a combination of those before it); leave this vector out, or use "
                 "mass_pca(solid, vectors, r)",
                 dependent);
done:
  rf_free(factor);
  return st;
}

// A basis and the number of models that use it.
struct rf_reduced_basis {
  atomic_int users;
  double *vectors;
  double *reach, *turn;
  int32_t r;
  double turned_reach, length_m;
};

static void release_basis(rf_reduced_basis *basis) {
  if (!basis || atomic_fetch_sub(&basis->users, 1) > 1) return;
  rf_free(basis->vectors);
  rf_free(basis->reach);
  rf_free(basis->turn);
  rf_free(basis);
}

// Computes R from U^T U = R^T R, and the largest norm of a node's rows of U R^-1. Dependent vectors
// have no such R: their model is rejected because of its mass.
static rf_status find_turn(rf_reduced_basis *basis, int32_t r, int32_t n_nodes, rf_error *err) {
  rf_status st = RF_OK;
  const int n = 3 * n_nodes;
  const double one = 1.0, zero = 0.0;
  double *rows = NULL, farthest = 0.0;
  int info = 0;
  basis->r = r;
  basis->turned_reach = INFINITY;
  RF_ALLOC(basis->turn, r * r);
  RF_ALLOC(rows, 3 * NODES_AT_ONCE * (int64_t)r);
  rf_blas_serial_begin();
  // column-major lower triangle, which is the row-major upper one
  dsyrk_("L", "T", &r, &n, &one, basis->vectors, &n, &zero, basis->turn, &r);
  dpotrf_("L", &r, basis->turn, &r, &info);
  for (int first = 0; info == 0 && first < n; first += 3 * NODES_AT_ONCE) {
    const int some = n - first < 3 * NODES_AT_ONCE ? n - first : 3 * NODES_AT_ONCE;
    for (int32_t i = 0; i < r; ++i)
      memcpy(rows + (int64_t)i * some, basis->vectors + (int64_t)i * n + first,
             (size_t)some * sizeof *rows);
    dtrsm_("R", "L", "T", "N", &some, &r, &one, basis->turn, &r, rows, &some);
    for (int k = 0; k < some; k += 3) {
      double square = 0.0;
      for (int32_t i = 0; i < r; ++i) {
        const double *u = rows + (int64_t)i * some + k;
        square += rf_vec3_dot(u, u);
      }
      farthest = fmax(farthest, square);
    }
  }
  rf_blas_serial_end();
  if (info == 0) basis->turned_reach = sqrt(farthest);
done:
  rf_free(rows);
  return st;
}

static rf_status copy_basis(int32_t r, int32_t n_nodes, const double *nodes, const double *vectors,
                            rf_reduced_basis **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_reduced_basis *basis = NULL;
  const int64_t count = (int64_t)r * n_nodes * 3;
  RF_ALLOC(basis, 1);
  atomic_init(&basis->users, 1);
  RF_ALLOC(basis->vectors, count);
  memcpy(basis->vectors, vectors, (size_t)count * sizeof *vectors);
  RF_ALLOC(basis->reach, r);
  for (int32_t i = 0; i < r; ++i)
    for (const double *u = vectors + i * (count / r), *end = u + count / r; u < end; u += 3)
      basis->reach[i] = fmax(basis->reach[i], rf_vec3_length(u));
  basis->length_m = nodes ? rf_mesh_length(n_nodes, nodes) : INFINITY;
  RF_TRY(find_turn(basis, r, n_nodes, err));
  *out = basis;
  basis = NULL;
done:
  release_basis(basis);
  return st;
}

// Energy of a model: one of both.
typedef struct energy {
  rf_polynomial *polynomial;
  rf_cubature *cubature;
} energy;

static void release_energy(energy e) {
  rf_polynomial_free(e.polynomial);
  rf_cubature_free(e.cubature);
}

// Checks the mass and assembles the model; takes ownership of energy and basis, also on failure.
static rf_status seal(int32_t n_nodes, const double *mass, energy of, rf_reduced_basis *basis,
                      rf_reduced **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_reduced *model = NULL;
  const int32_t r = of.polynomial ? of.polynomial->r : of.cubature->r;
  *out = NULL;
  RF_TRY(rf_reduced_check_mass(r, mass, err));
  RF_ALLOC(model, 1);
  model->r = r;
  model->n_nodes = n_nodes;
  RF_ALLOC(model->mass, r * r);
  memcpy(model->mass, mass, (size_t)r * (size_t)r * sizeof *mass);
  model->polynomial = of.polynomial;
  model->cubature = of.cubature;
  model->shared = basis;
  model->basis = basis->vectors;
  model->reach = basis->reach;
  model->turn = basis->turn;
  model->turn_columns = basis->r;
  model->turned_reach = basis->turned_reach;
  model->length_m = basis->length_m;
  *out = model;
  return st;
done:
  rf_reduced_free(model);
  release_energy(of);
  release_basis(basis);
  return st;
}

rf_status rf_reduced_create(int32_t r, int32_t n_nodes, const double *nodes, const double *basis,
                            const double *mass, const double *coefficient, rf_simd simd,
                            rf_reduced **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_polynomial *polynomial = NULL;
  rf_reduced_basis *copy = NULL;
  *out = NULL;
  if (!(r >= 1 && r <= RF_POLYNOMIAL_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_POLYNOMIAL_MAX_R, r);
  if (!(n_nodes >= 1))
    return rf_fail(err, RF_ERR_ARG, "a reduced model needs at least one node, got %d", n_nodes);
  RF_TRY(require_finite(basis, (int64_t)r * n_nodes * 3, "basis", err));
  RF_TRY(rf_polynomial_create(r, coefficient, simd, &polynomial, err));
  RF_TRY(copy_basis(r, n_nodes, nodes, basis, &copy, err));
  return seal(n_nodes, mass, (energy){.polynomial = polynomial}, copy, out, err);
done:
  rf_polynomial_free(polynomial);
  return st;
}

rf_status rf_reduced_create_like(const rf_reduced *like, const double *mass,
                                 rf_polynomial *polynomial, rf_reduced **out, rf_error *err) {
  *out = NULL;
  if (!(polynomial->r <= like->r)) {
    const rf_status st =
        rf_fail(err, RF_ERR_ARG, "a basis of %d vectors does not serve %d", like->r, polynomial->r);
    rf_polynomial_free(polynomial);
    return st;
  }
  atomic_fetch_add(&like->shared->users, 1);
  return seal(like->n_nodes, mass, (energy){.polynomial = polynomial}, like->shared, out, err);
}

rf_status rf_reduced_create_sampled(int32_t n_nodes, const double *nodes, const double *basis,
                                    const double *mass, rf_cubature *cubature, rf_reduced **out,
                                    rf_error *err) {
  rf_status st = RF_OK;
  rf_reduced_basis *copy = NULL;
  const int32_t r = cubature->r;
  *out = NULL;
  if (!(n_nodes >= 1))
    st = rf_fail(err, RF_ERR_ARG, "a reduced model needs at least one node, got %d", n_nodes);
  if (st >= 0) st = require_finite(basis, (int64_t)r * n_nodes * 3, "basis", err);
  if (st >= 0) st = copy_basis(r, n_nodes, nodes, basis, &copy, err);
  if (st >= 0) return seal(n_nodes, mass, (energy){.cubature = cubature}, copy, out, err);
  rf_cubature_free(cubature);
  return st;
}

rf_status rf_reduced_truncate(const rf_reduced *model, int32_t r_new, rf_reduced **out,
                              rf_error *err) {
  rf_status st = RF_OK;
  energy kept = {0};
  double *mass = NULL;
  *out = NULL;
  if (model->polynomial)
    RF_TRY(rf_polynomial_truncate(model->polynomial, r_new, &kept.polynomial, err));
  else
    RF_TRY(rf_cubature_truncate(model->cubature, r_new, &kept.cubature, err));
  RF_ALLOC(mass, r_new * r_new);
  for (int32_t i = 0; i < r_new; ++i)
    memcpy(mass + i * r_new, model->mass + i * model->r, (size_t)r_new * sizeof *mass);
  atomic_fetch_add(&model->shared->users, 1);
  st = seal(model->n_nodes, mass, kept, model->shared, out, err);
  kept = (energy){0};
done:
  release_energy(kept);
  rf_free(mass);
  return st;
}

void rf_reduced_free(rf_reduced *model) {
  if (!model) return;
  release_basis(model->shared);
  rf_free(model->mass);
  release_energy((energy){model->polynomial, model->cubature});
  rf_free(model);
}

size_t rf_reduced_work_bytes(const rf_reduced *model) {
  return model->polynomial ? rf_polynomial_work_bytes(model->r) : rf_cubature_work_bytes(model->r);
}

rf_status rf_reduced_require_defined(const rf_reduced *model, const double *q, const char *subject,
                                     rf_error *err) {
  return model->cubature ? rf_cubature_require_defined(model->cubature, q, subject, err) : RF_OK;
}

void rf_reduced_displacement(const rf_reduced *model, const double *q, double *u) {
  const int64_t dofs = 3 * (int64_t)model->n_nodes;
  memset(u, 0, (size_t)dofs * sizeof *u);
  for (int32_t i = 0; i < model->r; ++i) {
    const double *column = model->basis + i * dofs, q_i = q[i];
    for (int64_t d = 0; d < dofs; ++d) u[d] += q_i * column[d];
  }
}

void rf_reduced_project(const rf_reduced *model, const double *force, double *reduced) {
  const int64_t dofs = 3 * (int64_t)model->n_nodes;
  for (int32_t i = 0; i < model->r; ++i) {
    const double *column = model->basis + i * dofs;
    double sum = 0.0;
    for (int64_t d = 0; d < dofs; ++d) sum += column[d] * force[d];
    reduced[i] = sum;
  }
}
