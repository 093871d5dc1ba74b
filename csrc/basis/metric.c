#include "basis/metric.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"

rf_status rf_metric_create(const rf_csc *mass, int width, rf_metric *out, rf_error *err) {
  rf_status st = RF_OK;
  rf_metric m = {.rows = (size_t)mass->rows, .width = width};
  RF_TRY(rf_cholesky_create(mass, &m.factor, err));
  st = rf_cholesky_factorize(m.factor, mass, NULL, err);
  if (st == RF_ERR_SINGULAR)
    st = rf_fail(err, RF_ERR_SINGULAR, "the mass matrix is not positive definite");
  if (st < 0) goto done;
  RF_TRY(rf_cholesky_half_prepare(m.factor, err));
  *out = m;
  m.factor = NULL;
done:
  rf_metric_free(&m);
  return st;
}

rf_status rf_metric_of_solid(const rf_solid *solid, rf_metric *out, rf_error *err) {
  rf_status st = RF_OK;
  rf_csc mass = {0};
  RF_TRY(rf_solid_free_mass(solid, &mass, err));
  RF_TRY(rf_metric_create(&mass, 3, out, err));
done:
  rf_csc_free(&mass);
  return st;
}

void rf_metric_free(rf_metric *metric) {
  rf_cholesky_free(metric->factor);
  memset(metric, 0, sizeof *metric);
}

typedef struct transform {
  const rf_metric *metric;
  double *vectors;  // (count, rows, width)
  double *work;     // two vectors a worker (threads, 2, rows, width)
} transform;

// one vector becomes L^T P of its components, which stay side by side
static rf_status enter_one(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const transform *t = context;
  const size_t n = t->metric->rows * (size_t)t->metric->width;
  double *vector = t->vectors + n * (size_t)task;
  double *copy = t->work + 2 * n * (size_t)worker;
  memcpy(copy, vector, n * sizeof *copy);
  rf_cholesky_half_multiply(t->metric->factor, t->metric->width, copy, copy + n, vector);
  return RF_OK;
}

rf_status rf_metric_enter(const rf_metric *metric, const rf_run *run, int32_t count,
                          double *vectors, rf_error *err) {
  rf_status st = RF_OK;
  transform t = {.metric = metric, .vectors = vectors};
  RF_ALLOC(t.work, 2 * metric->rows * (size_t)metric->width * (size_t)run->threads);
  RF_TRY(rf_run_tasks(run, count, 1, enter_one, &t, err));
done:
  rf_free(t.work);
  return st;
}

// P^T L^-T, on components one after the other
rf_status rf_metric_leave(const rf_metric *metric, const rf_run *run, int32_t count,
                          double *vectors, rf_error *err) {
  rf_status st = RF_OK;
  const size_t rows = metric->rows, width = (size_t)metric->width;
  double *split = NULL;
  RF_ALLOC(split, rows * width);
  for (int32_t v = 0; v < count; ++v) {
    double *vector = vectors + rows * width * (size_t)v;
    for (size_t i = 0; i < rows; ++i)
      for (size_t c = 0; c < width; ++c) split[c * rows + i] = vector[width * i + c];
    RF_TRY(rf_run_progress(run, -1, -1, err));
    RF_TRY(rf_cholesky_half_solve(metric->factor, metric->width, split, split, err));
    for (size_t i = 0; i < rows; ++i)
      for (size_t c = 0; c < width; ++c) vector[width * i + c] = split[c * rows + i];
  }
done:
  rf_free(split);
  return st;
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
