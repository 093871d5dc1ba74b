#include "basis/mass_pca.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/blas.h"
#include "linalg/convention.h"
#include "linalg/lapack.h"

void rf_basis_free(rf_basis *basis) {
  rf_free(basis->vectors);
  rf_free(basis->spectrum);
  memset(basis, 0, sizeof *basis);
}

// Computes all singular values of z (rows x count, column-major), and in place of z the first *size
// left singular vectors with those that complete the value at the cut, *taken in total; at_most:
// lowers *size to the rank.
static rf_status left_vectors(int rows, int count, double *z, bool at_most, int *size,
                              double *singular, int *taken, rf_error *err) {
  rf_status st = RF_OK;
  int r = *size;
  const int small = rows < count ? rows : count, query = -1;
  double *tau = NULL, *work = NULL, *triangle = NULL, *left = NULL, *right = NULL, *u = NULL;
  int *iwork = NULL;
  int info = 0, lwork = 0, svd_lwork = 0;
  double best = 0.0;
  // checks first that it can run, before the long work
  dgesdd_("S", &small, &count, triangle, &small, singular, left, &small, right, &small, &best,
          &query, iwork, &info);
  RF_TRY(rf_lapack_size("dgesdd", "deformations", rf_lapack_least_dgesdd(small), info, best,
                        &svd_lwork, err));
  RF_ALLOC(tau, small);
  RF_ALLOC(triangle, (int64_t)small * count);
  RF_ALLOC(left, (int64_t)small * small);
  RF_ALLOC(right, (int64_t)small * count);
  RF_ALLOC(iwork, 8 * (int64_t)small);

  dgeqrf_(&rows, &count, z, &rows, tau, &best, &query, &info);
  RF_TRY(rf_lapack_size("dgeqrf", "deformations", count, info, best, &lwork, err));
  RF_ALLOC(work, lwork);
  dgeqrf_(&rows, &count, z, &rows, tau, work, &lwork, &info);
  if (info != 0) {
    st = rf_fail(err, RF_ERR_INTERNAL, "LAPACK dgeqrf failed with code %d", info);
    goto done;
  }
  for (int j = 0; j < count; ++j)
    for (int i = 0; i <= j && i < small; ++i)
      triangle[(size_t)j * (size_t)small + (size_t)i] = z[(size_t)j * (size_t)rows + (size_t)i];

  rf_free(work);
  work = NULL;
  RF_ALLOC(work, svd_lwork);
  dgesdd_("S", &small, &count, triangle, &small, singular, left, &small, right, &small, work,
          &svd_lwork, iwork, &info);
  if (info != 0) {
    st = rf_fail(err, info > 0 ? RF_ERR_NO_CONVERGENCE : RF_ERR_INTERNAL,
                 "the singular value decomposition failed (LAPACK dgesdd code %d)", info);
    goto done;
  }

  // numerical rank: singular values above the rounding of the largest
  const double threshold = singular[0] * DBL_EPSILON * (rows > count ? rows : count);
  int rank = 0;
  while (rank < small && singular[rank] > threshold) ++rank;
  if (rank == 0) {
    st = rf_fail(err, RF_ERR_ARG, "all deformations are zero, so no basis can be made of them");
    goto done;
  }
  if (r > rank && !at_most) {
    st = rf_fail(err, RF_ERR_ARG,
                 "r is %d, but the deformations have numerical rank %d; r must be 1 to %d", r, rank,
                 rank);
    goto done;
  }
  r = *size = r < rank ? r : rank;

  const int wide = rf_cluster_end(rank, singular, r - 1, RF_CLUSTER_CUT);
  RF_ALLOC(u, (size_t)rows * (size_t)wide);
  for (int j = 0; j < wide; ++j)
    memcpy(u + (size_t)j * (size_t)rows, left + (size_t)j * (size_t)small,
           (size_t)small * sizeof *u);
  dormqr_("L", "N", &rows, &wide, &small, z, &rows, tau, u, &rows, &best, &query, &info);
  rf_free(work);
  work = NULL;
  RF_TRY(rf_lapack_size("dormqr", "deformations", wide, info, best, &lwork, err));
  RF_ALLOC(work, lwork);
  dormqr_("L", "N", &rows, &wide, &small, z, &rows, tau, u, &rows, work, &lwork, &info);
  if (info != 0) {
    st = rf_fail(err, RF_ERR_INTERNAL, "LAPACK dormqr failed with code %d", info);
    goto done;
  }
  memcpy(z, u, (size_t)rows * (size_t)wide * sizeof *z);
  *taken = wide;
done:
  rf_free(tau);
  rf_free(work);
  rf_free(triangle);
  rf_free(left);
  rf_free(right);
  rf_free(u);
  rf_free(iwork);
  return st;
}

rf_status rf_mass_pca_weigh(int32_t count, size_t n, const double *weights, double *vectors,
                            rf_error *err) {
  for (int32_t v = 0; v < count; ++v) {
    double *vector = vectors + n * (size_t)v;
    if (weights && !isfinite(weights[v]))
      return rf_fail(err, RF_ERR_ARG, "weights[%d] is %g; it must be finite", (int)v, weights[v]);
    for (size_t i = 0; i < n; ++i) {
      if (weights) vector[i] *= weights[v];
      if (!isfinite(vector[i]))
        return rf_fail(err, RF_ERR_ARG, "vectors[%d] times its weight is not finite", (int)v);
    }
  }
  return RF_OK;
}

rf_status rf_mass_pca_of(const rf_pca_space *space, const rf_run *run, int32_t count,
                         double *vectors, bool at_most, int32_t *r, double *spectrum,
                         rf_error *err) {
  rf_status st = RF_OK;
  rf_metric metric = {0};
  const size_t rows = (size_t)space->mass->rows * (size_t)space->width;
  const int32_t most = (size_t)count < rows ? count : (int32_t)rows;
  if (at_most && *r > most) *r = most;
  if (!(*r >= 1 && *r <= most))
    return rf_fail(
        err, RF_ERR_ARG,
        "r must be between 1 and %d (%d deformations, %zu free degrees of freedom), got %d",
        (int)most, (int)count, rows, (int)*r);
  RF_TRY(rf_metric_create(space->mass, space->places, space->width, run, &metric, err));
  RF_TRY(rf_metric_enter(&metric, run, count, vectors, err));
  int taken = 0;
  // one BLAS thread: the result must not depend on the thread count of the process
  rf_blas_serial_begin();
  st = left_vectors((int)rows, count, vectors, at_most, r, spectrum, &taken, err);
  if (st >= 0) st = rf_metric_leave(&metric, run, taken, vectors, err);
  rf_blas_serial_end();
  if (st < 0) goto done;
  RF_TRY(rf_run_progress(run, count, count, err));
  // vectors of equal singular value are ordered like repeated modes
  RF_TRY(rf_canonical_vectors((int32_t)rows, taken, spectrum, space->n_weights, space->weights,
                              vectors, err));
done:
  rf_metric_free(&metric);
  return st;
}

rf_status rf_mass_pca_in_place(const rf_solid *solid, const rf_run *run, int32_t count,
                               double *vectors, int32_t r, bool at_most, rf_basis *out,
                               rf_error *err) {
  rf_status st = RF_OK;
  rf_csc mass = {0};
  double *weight = NULL, *point = NULL;
  const size_t rows = 3 * (size_t)solid->n_free;
  rf_basis basis = {.n_nodes = solid->mesh->n_nodes};
  basis.n_spectrum = (size_t)count < rows ? count : (int32_t)rows;
  memset(out, 0, sizeof *out);
  RF_TRY(rf_solid_free_mass(solid, &mass, err));
  RF_ALLOC(weight, RF_MODES_WEIGHTS * rows);
  rf_modes_weights(solid, weight, weight + rows);
  const double *const weights[RF_MODES_WEIGHTS] = {weight, weight + rows};
  RF_TRY(rf_solid_free_points(solid, &point, err));
  const rf_places places = {1, point};
  const rf_pca_space space = {&mass, 3, &places, RF_MODES_WEIGHTS, weights};
  RF_ALLOC(basis.spectrum, basis.n_spectrum);
  RF_TRY(rf_mass_pca_of(&space, run, count, vectors, at_most, &r, basis.spectrum, err));
  RF_ALLOC(basis.vectors, 3 * (size_t)basis.n_nodes * (size_t)r);
  for (size_t v = 0; v < (size_t)r; ++v)
    rf_solid_scatter(solid, vectors + rows * v, basis.vectors + 3 * (size_t)basis.n_nodes * v);
  basis.r = r;
  *out = basis;
  memset(&basis, 0, sizeof basis);
done:
  rf_csc_free(&mass);
  rf_free(point);
  rf_free(weight);
  rf_basis_free(&basis);
  return st;
}

rf_status rf_basis_mass_pca(const rf_solid *solid, const rf_run *run, int32_t count,
                            const double *vectors, const double *weights, int32_t r, bool at_most,
                            rf_basis *out, rf_error *err) {
  rf_status st = RF_OK;
  const size_t n_nodes = (size_t)solid->mesh->n_nodes, n = 3 * (size_t)solid->n_free;
  double *copy = NULL;
  memset(out, 0, sizeof *out);
  if (!(count >= 1)) return rf_fail(err, RF_ERR_ARG, "vectors must hold at least one deformation");
  if (solid->n_free < 1) return rf_fail(err, RF_ERR_MESH, "every node of the solid is fixed");
  for (int32_t v = 0; v < count; ++v) {
    const double *vector = vectors + 3 * n_nodes * (size_t)v;
    for (int32_t f = 0; f < solid->n_fixed; ++f) {
      const double *u = vector + 3 * (size_t)solid->fixed[f];
      if (u[0] == 0.0 && u[1] == 0.0 && u[2] == 0.0) continue;
      return rf_fail(
          err, RF_ERR_ARG,
          "vectors[%d] moves node %d, which is fixed, by (%g, %g, %g); it must be zero there",
          (int)v, solid->fixed[f], u[0], u[1], u[2]);
    }
  }
  RF_ALLOC(copy, n * (size_t)count);
  for (int32_t v = 0; v < count; ++v) {
    rf_solid_gather(solid, vectors + 3 * n_nodes * (size_t)v, copy + n * (size_t)v);
  }
  RF_TRY(rf_mass_pca_weigh(count, n, weights, copy, err));
  RF_TRY(rf_mass_pca_in_place(solid, run, count, copy, r, at_most, out, err));
done:
  rf_free(copy);
  return st;
}
