#include "contact/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/blas.h"
#include "linalg/lapack.h"

static const double STIFFER = 30.0;
// Stiffest place meant to be pressed: this percentile of the compliances above the part YIELDS of
// the largest.  Compliances are at least the part LEAST of that.
static const double PERCENTILE = 0.1, YIELDS = 1e-3, LEAST = 0.2;
// Eigenvalues below this part of the largest belong to rigid motions.
static const double ELASTIC = 1e-9;

// ---- K^-1 = F F^T, columns of F by elastic coordinates

typedef struct flexibility {
  int32_t r;
  double *factor;  // F, column by column                 (r, r); columns of rigid motions are zero
  double *sum;     // F^T x                               (r)
} flexibility;

static void flexibility_free(flexibility *f) {
  rf_free(f->factor);
  rf_free(f->sum);
}

// Replaces the symmetric matrix a (n, n) by its eigenvectors, one after the other.
static rf_status eigenvectors(int32_t n, double *a, double *values, rf_error *err) {
  rf_status st = RF_OK;
  double *work = NULL, best = 0.0;
  int *integers = NULL;
  const int order = n, ask = -1, n_integers = 3 + 5 * n;
  int info = 0, size = 0, few = 0;
  rf_blas_serial_begin();
  dsyevd_("V", "U", &order, a, &order, values, &best, &ask, &few, &ask, &info);
  RF_TRY(
      rf_lapack_size("dsyevd", "coordinates", rf_lapack_least_dsyevd(n), info, best, &size, err));
  RF_ALLOC(work, size);
  RF_ALLOC(integers, n_integers);
  dsyevd_("V", "U", &order, a, &order, values, work, &size, integers, &n_integers, &info);
  if (info != 0) st = rf_fail(err, RF_ERR_INTERNAL, "LAPACK dsyevd failed with code %d", info);
done:
  rf_blas_serial_end();
  rf_free(work);
  rf_free(integers);
  return st;
}

static rf_status flexibility_of(const rf_reduced *model, flexibility *f, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t r = model->r;
  double *rest = NULL, *values = NULL;
  char *work = NULL;
  f->r = r;
  RF_ALLOC(f->factor, r * r);
  RF_ALLOC(f->sum, r);
  RF_ALLOC(rest, r);
  RF_ALLOC(values, r);
  RF_ALLOC(work, rf_reduced_work_bytes(model));
  rf_reduced_evaluate_rt(model, rest, work, NULL, NULL, f->factor, r);
  RF_TRY(eigenvectors(r, f->factor, values, err));
  for (int32_t k = 0; k < r; ++k) {
    const bool elastic = values[k] > ELASTIC * values[r - 1];
    const double scale = elastic ? 1.0 / sqrt(values[k]) : 0.0;
    for (int32_t i = 0; i < r; ++i) f->factor[k * r + i] *= scale;
  }
done:
  rf_free(rest);
  rf_free(values);
  rf_free(work);
  return st;
}

// x^T K^-1 x.
static double yield_to(const flexibility *f, const double *x) {
  double total = 0.0;
  for (int32_t k = 0; k < f->r; ++k) {
    double sum = 0.0;
    for (int32_t i = 0; i < f->r; ++i) sum += f->factor[k * f->r + i] * x[i];
    total += sum * sum;
  }
  return total;
}

// ---- places

rf_status rf_fit_compliance(const rf_point_tree *tree, const rf_reduced *model, double *compliance,
                            rf_error *err) {
  rf_status st = RF_OK;
  flexibility f = {0};
  double *row = NULL;
  if (model->r != tree->r)
    return rf_fail(err, RF_ERR_ARG, "the model has %d reduced coordinates, the tree has %d",
                   model->r, tree->r);
  RF_TRY(flexibility_of(model, &f, err));
  RF_ALLOC(row, tree->row);
  for (int32_t p = 0; p < tree->n_points; ++p) {
    memset(row, 0, (size_t)tree->row * sizeof *row);
    rf_point_tree_project_rt(tree, p, tree->normal + 3 * (size_t)p, row);
    compliance[tree->point[p]] = yield_to(&f, row);
  }
done:
  flexibility_free(&f);
  rf_free(row);
  return st;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static rf_status field_compliance(const rf_deformed_field *field, const rf_reduced *model,
                                  double *median, rf_error *err) {
  rf_status st = RF_OK;
  flexibility f = {0};
  double *mean = NULL, *row = NULL;
  const int32_t n = field->n_proxies;
  RF_TRY(flexibility_of(model, &f, err));
  RF_ALLOC(mean, n);
  RF_ALLOC(row, field->r);
  for (int32_t i = 0; i < n; ++i)
    for (int axis = 0; axis < 3; ++axis) {
      const double along[3] = {axis == 0, axis == 1, axis == 2};
      memset(row, 0, (size_t)field->r * sizeof *row);
      rf_deformed_field_push_rt(field, i, along, row);
      mean[i] += yield_to(&f, row) / 3.0;
    }
  qsort(mean, (size_t)n, sizeof *mean, ascending);
  *median = mean[n / 2];
done:
  flexibility_free(&f);
  rf_free(mean);
  rf_free(row);
  return st;
}

// ---- the rule

// Compliance of the stiffest place meant to be pressed; `sorted`, ascending.
static double stiffest_pressed(int32_t n, const double *sorted) {
  int32_t first = 0;
  while (first < n - 1 && !(sorted[first] > YIELDS * sorted[n - 1])) ++first;
  return sorted[first + (int32_t)(PERCENTILE * (n - 1 - first))];
}

rf_status rf_fit_stiffness(const rf_point_tree *tree, const rf_reduced *model,
                           const rf_deformed_field *field, const rf_reduced *field_model,
                           double *stiffness, bool *fitted, rf_error *err) {
  rf_status st = RF_OK;
  double *compliance = NULL, *sorted = NULL, more = 0.0;
  const int32_t n = tree->n_points;
  *fitted = false;
  RF_ALLOC(compliance, n);
  RF_ALLOC(sorted, n);
  if (model) RF_TRY(rf_fit_compliance(tree, model, compliance, err));
  if (field && field_model) RF_TRY(field_compliance(field, field_model, &more, err));
  memcpy(sorted, compliance, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, ascending);
  const double least = LEAST * stiffest_pressed(n, sorted);
  *fitted = isfinite(STIFFER / (least + more)) && isfinite(sorted[n - 1] + more);
  for (int32_t k = 0; k < n && *fitted; ++k)
    stiffness[k] = STIFFER / (fmax(compliance[k], least) + more);
done:
  rf_free(compliance);
  rf_free(sorted);
  return st;
}
