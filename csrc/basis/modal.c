#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "basis/basis.h"
#include "basis/mass_pca.h"
#include "linalg/deflate.h"
#include "linalg/vector.h"

enum { AT_ONCE = 16 };  // derivatives whose mass norms are computed together
// Relative norm of derivatives that vanish by symmetry, up to rounding.
static const double ROUNDING = 1e-10;

static void scale(size_t n, double factor, double *x) {
  for (size_t i = 0; i < n; ++i) x[i] *= factor;
}

rf_status rf_basis_scale(const rf_modes_system *system, const rf_run *run, int32_t k,
                         const double *eigenvalues, double *shapes, double *derivatives,
                         rf_error *err) {
  rf_status st = RF_OK;
  const rf_eigen_problem *op = &system->operators;
  const size_t n = (size_t)op->n;
  const bool is_free = op->null_space > 0;
  const int64_t pairs = is_free ? (int64_t)k * k : rf_modes_pairs(k);
  double *norm = NULL, *product = NULL;
  RF_ALLOC(norm, pairs);
  RF_ALLOC(product, n * (size_t)(pairs < AT_ONCE ? pairs : AT_ONCE));
  for (int32_t j = 0; j < k; ++j) {
    if (eigenvalues[j] > 0.0) continue;
    st = rf_fail(err, RF_ERR_SINGULAR, "eigenvalue %d is %g; those of elastic modes are positive",
                 (int)j, eigenvalues[j]);
    goto done;
  }

  double largest = 0.0;
  for (int64_t first = 0; first < pairs; first += AT_ONCE) {
    const int32_t count = pairs - first < AT_ONCE ? (int32_t)(pairs - first) : AT_ONCE;
    const double *phi = derivatives + n * (size_t)first;
    RF_TRY(op->mass(op->context, run, count, phi, product, err));
    for (int32_t p = 0; p < count; ++p) {
      const size_t at = n * (size_t)p;
      norm[first + p] = sqrt(fmax(rf_dot((int64_t)n, phi + at, product + at), 0.0));
      largest = fmax(largest, norm[first + p]);
    }
  }

  const double first = eigenvalues[0];
  for (int32_t j = 0; j < k; ++j) scale(n, first / eigenvalues[j], shapes + n * (size_t)j);
  int64_t p = 0;
  for (int32_t i = 0; i < k; ++i) {
    for (int32_t j = is_free ? 0 : i; j < k; ++j, ++p) {
      const double factor = first / eigenvalues[i] * (first / eigenvalues[j]);
      scale(n, norm[p] > ROUNDING * largest ? factor / norm[p] : 0.0, derivatives + n * (size_t)p);
    }
  }
done:
  rf_free(norm);
  rf_free(product);
  return st;
}

// Derivatives of a free solid contain rigid rotations; a basis of deformations is M-orthogonal to
// the rigid motions, which are integrated separately.
static rf_status remove_rigid(const rf_modes_solid *modes, const rf_run *run, int64_t count,
                              double *vectors, rf_error *err) {
  rf_status st = RF_OK;
  const rf_eigen_problem *op = &rf_modes_solid_system(modes)->operators;
  const double *rigid = rf_modes_solid_rigid(modes);
  double *dual = NULL;
  RF_ALLOC(dual, RF_RIGID * (int64_t)op->n);
  RF_TRY(op->mass(op->context, run, RF_RIGID, rigid, dual, err));
  RF_TRY(rf_deflate(run, op->n, RF_RIGID, rigid, dual, (int32_t)count, vectors, err));
done:
  rf_free(dual);
  return st;
}

// Progress, in per cent, after each stage.
enum { AFTER_FACTOR = 15, AFTER_MODES = 45, AFTER_DERIVATIVES = 90, AFTER_ALL = 100 };

// Lowers r to the number of vectors with at_most.
static rf_status check_sizes(const rf_solid *solid, int32_t k, bool at_most, int32_t *r,
                             rf_error *err) {
  const int32_t most = rf_modes_most(solid);
  if (!(k >= 1 && k <= most))
    return rf_fail(err, RF_ERR_ARG,
                   "k must be between 1 and %d (free degrees of freedom less one), got %d",
                   (int)most, (int)k);
  const int64_t count = k + rf_modes_solid_pairs(solid, k);
  if (at_most && *r > count) *r = (int32_t)count;
  if (!(*r >= 1 && *r <= count))
    return rf_fail(err, RF_ERR_ARG,
                   "r must be between 1 and %lld (%d modes and their %lld derivatives), got %d",
                   (long long)count, (int)k, (long long)(count - k), (int)*r);
  return RF_OK;
}

rf_status rf_basis_modal_derivatives(const rf_solid *solid, const rf_run *run, int32_t k, int32_t r,
                                     bool at_most, double *eigenvalues, rf_basis *out,
                                     rf_error *err) {
  rf_status st = RF_OK;
  rf_modes_solid *modes = NULL;
  double *shapes = NULL, *candidates = NULL;
  const size_t n = 3 * (size_t)solid->n_free;
  const bool is_free = solid->n_fixed == 0;
  const int64_t pairs = rf_modes_solid_pairs(solid, k), count = k + pairs;
  RF_TRY(check_sizes(solid, k, at_most, &r, err));

  rf_run_part part = {run, 0, AFTER_FACTOR, AFTER_ALL};
  rf_run inner = rf_run_of_part(&part);
  RF_TRY(rf_modes_solid_create(solid, &inner, &modes, err));
  const rf_modes_system *system = rf_modes_solid_system(modes);
  RF_ALLOC(shapes, n * (size_t)k);
  part = (rf_run_part){run, AFTER_FACTOR, AFTER_MODES, AFTER_ALL};
  RF_TRY(rf_modes_linear(system, &inner, k, eigenvalues, shapes, err));

  // allocated after the scratch of the eigenproblem is freed
  RF_ALLOC(candidates, n * (size_t)count);
  memcpy(candidates, shapes, n * (size_t)k * sizeof *shapes);
  double *derivatives = candidates + n * (size_t)k;
  part = (rf_run_part){run, AFTER_MODES, AFTER_DERIVATIVES, AFTER_ALL};
  if (is_free) {
    RF_TRY(rf_modes_free_derivatives(modes, &inner, k, candidates, derivatives, NULL, err));
    RF_TRY(remove_rigid(modes, run, pairs, derivatives, err));
  } else {
    RF_TRY(rf_modes_derivatives(system, &inner, k, candidates, derivatives, err));
  }
  RF_TRY(rf_basis_scale(system, &inner, k, eigenvalues, candidates, derivatives, err));

  // frees the factor of K before the next large allocation
  rf_modes_solid_free(modes);
  modes = NULL;
  part = (rf_run_part){run, AFTER_DERIVATIVES, AFTER_ALL, AFTER_ALL};
  RF_TRY(rf_mass_pca_in_place(solid, &inner, (int32_t)count, candidates, r, at_most, out, err));
done:
  rf_free(shapes);
  rf_free(candidates);
  rf_modes_solid_free(modes);
  return st;
}

static rf_status multiply_mass(void *context, const rf_run *run, int32_t count, const double *x,
                               double *y, rf_error *err) {
  return rf_csc_symmetric_multiply(context, run, 3, count, x, y, err);
}

rf_status rf_basis_of_derivatives(const rf_solid *solid, const rf_run *run, int32_t k, int32_t r,
                                  bool at_most, const double *eigenvalues, const double *shapes,
                                  const double *derivatives, rf_basis *out, rf_error *err) {
  rf_status st = RF_OK;
  const size_t n = 3 * (size_t)solid->n_free, all = 3 * (size_t)solid->mesh->n_nodes;
  rf_csc mass = {0};
  double *candidates = NULL;
  if (solid->n_fixed == 0)
    return rf_fail(err, RF_ERR_ARG, "the solid is free: its basis needs derivatives with inertia");
  RF_TRY(check_sizes(solid, k, at_most, &r, err));
  const int64_t pairs = rf_modes_pairs(k), count = k + pairs;
  RF_ALLOC(candidates, n * (size_t)count);
  for (int64_t v = 0; v < count; ++v)
    rf_solid_gather(solid, v < k ? shapes + all * (size_t)v : derivatives + all * (size_t)(v - k),
                    candidates + n * (size_t)v);
  RF_TRY(rf_solid_free_mass(solid, &mass, err));
  const rf_modes_system system = {
      .operators = {.n = 3 * solid->n_free, .mass = multiply_mass, .context = &mass}};
  RF_TRY(rf_basis_scale(&system, run, k, eigenvalues, candidates, candidates + n * (size_t)k, err));
  RF_TRY(rf_mass_pca_in_place(solid, run, (int32_t)count, candidates, r, at_most, out, err));
done:
  rf_free(candidates);
  rf_csc_free(&mass);
  return st;
}
