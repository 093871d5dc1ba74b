#include "basis/metric.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"

rf_status rf_metric_create(const rf_csc *mass, const rf_places *places, int width,
                           const rf_run *run, rf_metric *out, rf_error *err) {
  rf_status st = RF_OK;
  rf_metric m = {.rows = (size_t)mass->rows, .width = width};
  RF_TRY(rf_cholesky_create(mass, places, &m.factor, err));
  st = rf_cholesky_factorize(m.factor, run, mass, NULL, err);
  if (st == RF_ERR_SINGULAR)
    st = rf_fail(err, RF_ERR_SINGULAR, "the mass matrix is not positive definite");
  if (st < 0) goto done;
  *out = m;
  m.factor = NULL;
done:
  rf_metric_free(&m);
  return st;
}

rf_status rf_metric_of_solid(const rf_solid *solid, const rf_run *run, rf_metric *out,
                             rf_error *err) {
  rf_status st = RF_OK;
  rf_csc mass = {0};
  double *point = NULL;
  RF_TRY(rf_solid_free_mass(solid, &mass, err));
  RF_TRY(rf_solid_free_points(solid, &point, err));
  RF_TRY(rf_metric_create(&mass, &(rf_places){1, point}, 3, run, out, err));
done:
  rf_csc_free(&mass);
  rf_free(point);
  return st;
}

void rf_metric_free(rf_metric *metric) {
  rf_cholesky_free(metric->factor);
  memset(metric, 0, sizeof *metric);
}

rf_status rf_metric_enter(const rf_metric *metric, const rf_run *run, int32_t count,
                          double *vectors, rf_error *err) {
  return rf_cholesky_half_multiply(metric->factor, run, count, metric->width, vectors, err);
}

rf_status rf_metric_leave(const rf_metric *metric, const rf_run *run, int32_t count,
                          double *vectors, rf_error *err) {
  return rf_cholesky_half_solve(metric->factor, run, count, metric->width, vectors, err);
}

rf_status rf_metric_copies(const rf_solid *solid, const rf_metric *metric, const rf_run *run,
                           int32_t count, const double *fields, double **vectors, rf_error *err) {
  rf_status st = RF_OK;
  const size_t n = metric->rows * (size_t)metric->width, all = 3 * (size_t)solid->mesh->n_nodes;
  double *copies = NULL;
  RF_ALLOC(copies, n * (size_t)count);
  for (int32_t v = 0; v < count; ++v) {
    double *copy = copies + n * (size_t)v;
    rf_solid_gather(solid, fields + all * (size_t)v, copy);
    for (size_t i = 0; i < n; ++i) {
      if (isfinite(copy[i])) continue;
      st = rf_fail(err, RF_ERR_ARG, "vectors[%d] has an entry that is not finite", (int)v);
      goto done;
    }
  }
  RF_TRY(rf_metric_enter(metric, run, count, copies, err));
  *vectors = copies;
  copies = NULL;
done:
  rf_free(copies);
  return st;
}
