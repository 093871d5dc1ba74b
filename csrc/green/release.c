#include "green/release.h"

#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/blas.h"
#include "linalg/dense_rt.h"

enum { PANEL = 96 };  // columns that LAPACK factors between two polls

// A pivot that is smaller than this part of its diagonal entry counts as zero.
static const double SMALL = 1e-11;

// The factor of rf_dense_cholesky_rt by panels of LAPACK, for matrices that take seconds.  The rows
// of the upper triangle are the columns of the lower one there.
static rf_status factorize_panels(const rf_run *run, int32_t n, double *a, int32_t ld, bool *good,
                                  rf_error *err) {
  const double one = 1.0, minus = -1.0;
  *good = true;
  for (int32_t k = 0; k < n; k += PANEL) {
    const int wide = n - k < PANEL ? n - k : PANEL, rest = n - k - wide, step = ld;
    double *corner = a + (int64_t)k * ld + k, *below = corner + wide;
    double *behind = below + (int64_t)wide * ld;
    int info = 0;
    rf_blas_serial_begin();
    dpotrf_("L", &wide, corner, &step, &info);
    if (info == 0 && rest > 0) {
      dtrsm_("R", "L", "T", "N", &rest, &wide, &one, corner, &step, below, &step);
      dsyrk_("L", "N", &rest, &wide, &minus, below, &step, &one, behind, &step);
    }
    rf_blas_serial_end();
    *good = info == 0;
    const rf_status st = rf_run_poll(run, err);
    if (st < 0 || !*good) return st;
  }
  for (int32_t i = 0; i < n; ++i) {
    double *row = a + (int64_t)i * ld;
    const double root = row[i];
    for (int32_t j = i / RF_DENSE_PAD * RF_DENSE_PAD; j < i; ++j) row[j] = 0.0;
    for (int32_t j = i + 1; j < n; ++j) row[j] *= root;
    row[i] = 1.0 / (root * root);
  }
  return RF_OK;
}

rf_status rf_green_factorize(const rf_green *g, const rf_run *run, int32_t n, double *a, int32_t ld,
                             double *diagonal, bool *good, rf_error *err) {
  for (int32_t i = 0; i < n; ++i) diagonal[i] = a[(int64_t)i * ld + i];
  if (n <= PANEL) {
    *good = rf_dense_cholesky_rt(g->simd, n, a, ld);
  } else {
    const rf_status st = factorize_panels(run, n, a, ld, good, err);
    if (st < 0) return st;
  }
  for (int32_t i = 0; *good && i < n; ++i)
    *good = 1.0 > SMALL * diagonal[i] * a[(int64_t)i * ld + i];
  return RF_OK;
}

double rf_green_firm(const rf_green *g, int64_t k) {
  return g->firm ? g->firm[k] : g->support[k * (3 * (int64_t)g->n_releasable + 1)];
}

rf_status rf_green_release_create(const rf_green *g, int32_t n_released, const int32_t *released,
                                  rf_green_release *out, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t n = 3 * n_released, ld = rf_dense_ld(n);
  *out = (rf_green_release){.g = g, .released = released, .n = n, .ld = ld};
  RF_ALLOC(out->factor, (int64_t)ld * ld);
  RF_ALLOC(out->load, ld);
  RF_ALLOC(out->motion, ld);
done:
  return st;
}

void rf_green_release_free(rf_green_release *r) {
  rf_free(r->factor);
  rf_free(r->load);
  rf_free(r->motion);
}

double rf_green_release_stiffness(const rf_green_release *r, int32_t i, int32_t j) {
  const int64_t row = 3 * (int64_t)r->released[i / 3] + i % 3;
  return r->g->support[row * 3 * r->g->n_releasable + 3 * (int64_t)r->released[j / 3] + j % 3];
}

const double *rf_green_release_mode(const rf_green_release *r, int32_t k) {
  const int64_t mode = 3 * (int64_t)r->released[k / 3] + k % 3;
  return r->g->static_modes + mode * 3 * rf_green_rows(r->g);
}

rf_status rf_green_release_factorize(rf_green_release *r, const rf_run *run, double spring,
                                     bool *good, rf_error *err) {
  memset(r->factor, 0, (size_t)r->ld * (size_t)r->ld * sizeof *r->factor);
  for (int32_t i = 0; i < r->n; ++i)
    for (int32_t j = 0; j < r->n; ++j)
      r->factor[(int64_t)i * r->ld + j] =
          rf_green_release_stiffness(r, i, j) + (i == j ? spring : 0.0);
  const rf_status st = rf_green_factorize(r->g, run, r->n, r->factor, r->ld, r->motion, good, err);
  memset(r->motion, 0, (size_t)r->ld * sizeof *r->motion);
  // springs hold what the supports do not
  for (int32_t k = 0; st >= 0 && spring == 0.0 && *good && k < r->n; ++k) {
    const double firm = rf_green_firm(r->g, 3 * (int64_t)r->released[k / 3] + k % 3);
    *good = 1.0 > SMALL * firm * r->factor[(int64_t)k * r->ld + k];
  }
  return st;
}

void rf_green_release_load(rf_green_release *r, const double *load) {
  for (int32_t k = 0; k < r->n; ++k) {
    const double *mode = rf_green_release_mode(r, k);
    double sum = 0.0;
    for (int32_t i = 0; load && i < 3 * r->g->count; ++i) sum += mode[i] * load[i];
    r->load[k] = sum;
  }
}

void rf_green_release_solve(rf_green_release *r) {
  if (r->n) rf_dense_cholesky_solve_rt(r->g->simd, r->n, r->factor, r->ld, r->load, r->motion);
}

void rf_green_release_add(const rf_green_release *r, const double *motion, double *u) {
  for (int32_t k = 0; k < r->n; ++k) {
    const double *mode = rf_green_release_mode(r, k);
    for (int32_t i = 0; i < 3 * r->g->count; ++i) u[i] += motion[k] * mode[i];
  }
}
