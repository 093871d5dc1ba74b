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
  int32_t count;
  double *vectors;  // (count, rows, width)
  double *work;     // three blocks a worker (threads, 3, rows, RF_CHOLESKY_HALF_WIDTH)
} transform;

static int32_t at_once(const rf_metric *metric) { return RF_CHOLESKY_HALF_WIDTH / metric->width; }

// some vectors, side by side for the product, become L^T P of their components
static rf_status enter_some(void *context, int64_t task, int worker, rf_error *err) {
  (void)err;
  const transform *t = context;
  const int32_t most = at_once(t->metric), first = (int32_t)task * most;
  const size_t some = (size_t)(t->count - first < most ? t->count - first : most);
  const size_t rows = t->metric->rows, width = (size_t)t->metric->width, n = rows * width;
  double *vectors = t->vectors + n * (size_t)first;
  double *beside = t->work + 3 * rows * RF_CHOLESKY_HALF_WIDTH * (size_t)worker;
  double *scratch = beside + n * some, *product = scratch + n * some;
  for (size_t i = 0; i < rows; ++i)
    for (size_t v = 0; v < some; ++v)
      memcpy(beside + width * (some * i + v), vectors + n * v + width * i, width * sizeof *beside);
  rf_cholesky_half_multiply(t->metric->factor, (int)(width * some), beside, scratch, product);
  for (size_t i = 0; i < rows; ++i)
    for (size_t v = 0; v < some; ++v)
      memcpy(vectors + n * v + width * i, product + width * (some * i + v), width * sizeof *beside);
  return RF_OK;
}

rf_status rf_metric_enter(const rf_metric *metric, const rf_run *run, int32_t count,
                          double *vectors, rf_error *err) {
  rf_status st = RF_OK;
  transform t = {.metric = metric, .count = count, .vectors = vectors};
  RF_ALLOC(t.work, 3 * metric->rows * RF_CHOLESKY_HALF_WIDTH * (size_t)run->threads);
  const int32_t most = at_once(metric);
  RF_TRY(rf_run_tasks(run, (count + most - 1) / most, 1, enter_some, &t, err));
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
