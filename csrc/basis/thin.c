#include "basis/thin.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "basis/metric.h"

enum {
  ROWS = 8,      // samples whose distances are computed together
  SLICE = 1024,  // their coordinates that stay in the cache meanwhile
  LANES = 8      // partial sums, for vectorisation
};
static const double REACH = 2.0;  // radius of the density kernel, in distances

typedef struct neighbour {
  int32_t sample;
  double apart;  // squared, in units of the distance
} neighbour;

typedef struct neighbourhood {
  int32_t count;
  neighbour *list;  // ascending by sample
} neighbourhood;

typedef struct search {
  int32_t count;
  size_t dim;
  const double *points;
  double scale;          // 1 / distance
  neighbourhood *found;  // neighbours within REACH of each sample
  double *work;          // (threads, ROWS, count)
} search;

static double squared(size_t n, double scale, const double *x, const double *y) {
  double lane[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (size_t l = 0; l < LANES; ++l) {
      const double d = scale * (x[i + l] - y[i + l]);
      lane[l] += d * d;
    }
  }
  for (size_t l = 0; i < n; ++i, ++l) lane[l] += scale * (x[i] - y[i]) * (scale * (x[i] - y[i]));
  double sum = 0.0;
  for (size_t l = 0; l < LANES; ++l) sum += lane[l];
  return sum;
}

// Finds the neighbours of the samples first .. first + ROWS - 1.
static rf_status find_neighbours(void *context, int64_t task, int worker, rf_error *err) {
  rf_status st = RF_OK;
  const search *s = context;
  const int32_t first = (int32_t)task * ROWS;
  const int32_t rows = s->count - first < ROWS ? s->count - first : ROWS;
  const size_t n = (size_t)s->count;
  double *apart = s->work + (size_t)worker * ROWS * n;
  memset(apart, 0, ROWS * n * sizeof *apart);
  for (size_t at = 0; at < s->dim; at += SLICE) {
    const size_t length = s->dim - at < SLICE ? s->dim - at : SLICE;
    for (size_t j = 0; j < n; ++j)
      for (size_t i = 0; i < (size_t)rows; ++i)
        apart[i * n + j] += squared(length, s->scale, s->points + s->dim * ((size_t)first + i) + at,
                                    s->points + s->dim * j + at);
  }
  for (int32_t i = 0; i < rows; ++i) {
    neighbourhood *near = &s->found[first + i];
    const double *row = apart + (size_t)i * n;
    int32_t count = 0;
    for (int32_t j = 0; j < s->count; ++j) count += j != first + i && row[j] < REACH * REACH;
    RF_ALLOC(near->list, count);
    for (int32_t j = 0; j < s->count; ++j)
      if (j != first + i && row[j] < REACH * REACH)
        near->list[near->count++] = (neighbour){j, row[j]};
  }
done:
  return st;
}

// In units of 2^-31: sums of integers are exact, so that equal densities compare equal.
static int64_t kernel(double apart) {
  const double rest = 1.0 - apart / (REACH * REACH);
  return (int64_t)rint(0x1p31 * rest * rest);
}

// Removes samples until no two of the rest are closer than the distance.
static rf_status remove_close(const rf_run *run, int32_t count, const neighbourhood *found,
                              bool *keep, rf_error *err) {
  rf_status st = RF_OK;
  int64_t *density = NULL;
  int32_t *close = NULL;  // number of remaining samples closer than the distance
  RF_ALLOC(density, count);
  RF_ALLOC(close, count);
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t p = 0; p < found[i].count; ++p) {
      density[i] += kernel(found[i].list[p].apart);
      close[i] += found[i].list[p].apart < 1.0;
    }
  }
  for (;;) {
    int32_t worst = -1;
    for (int32_t i = 0; i < count; ++i)
      if (keep[i] && close[i] > 0 && (worst < 0 || density[i] >= density[worst])) worst = i;
    if (worst < 0) break;
    RF_TRY(rf_run_progress(run, -1, -1, err));
    keep[worst] = false;
    for (int32_t p = 0; p < found[worst].count; ++p) {
      const neighbour *other = &found[worst].list[p];
      density[other->sample] -= kernel(other->apart);
      close[other->sample] -= other->apart < 1.0;
    }
  }
done:
  rf_free(density);
  rf_free(close);
  return st;
}

static void bring_back(int32_t count, const neighbourhood *found, bool *keep) {
  for (int32_t i = 0; i < count; ++i) {
    bool alone = !keep[i];
    for (int32_t p = 0; alone && p < found[i].count; ++p)
      alone = !(found[i].list[p].apart < 1.0 && keep[found[i].list[p].sample]);
    keep[i] = keep[i] || alone;
  }
}

rf_status rf_thin(const rf_run *run, int32_t count, int64_t dim, const double *points,
                  double distance, bool *keep, rf_error *err) {
  rf_status st = RF_OK;
  search s = {.count = count, .dim = (size_t)dim, .points = points, .scale = 1.0 / distance};
  if (!(count >= 0 && dim >= 0))
    return rf_fail(err, RF_ERR_ARG, "there are %d samples of %lld coordinates", (int)count,
                   (long long)dim);
  if (!(distance == 0.0 || (isfinite(distance) && distance > 0.0 && isfinite(s.scale))))
    return rf_fail(err, RF_ERR_ARG, "distance must be finite and not negative, got %g", distance);
  for (int64_t i = 0; i < count * dim; ++i)
    if (!isfinite(points[i]))
      return rf_fail(err, RF_ERR_ARG, "sample %lld has the coordinate %g; all must be finite",
                     (long long)(i / dim), points[i]);
  for (int32_t i = 0; i < count; ++i) keep[i] = true;
  if (distance == 0.0) return RF_OK;

  RF_ALLOC(s.found, count);
  RF_ALLOC(s.work, (size_t)run->threads * ROWS * (size_t)count);
  RF_TRY(rf_run_tasks(run, (count + ROWS - 1) / ROWS, 1, find_neighbours, &s, err));
  RF_TRY(remove_close(run, count, s.found, keep, err));
  bring_back(count, s.found, keep);
done:
  for (int32_t i = 0; s.found && i < count; ++i) rf_free(s.found[i].list);
  rf_free(s.found);
  rf_free(s.work);
  return st;
}

rf_status rf_thin_shapes(const rf_solid *solid, const rf_run *run, int32_t count,
                         const double *shapes, double distance, bool *keep, rf_error *err) {
  rf_status st = RF_OK;
  rf_metric metric = {0};
  double *vectors = NULL;
  if (solid->n_free < 1) return rf_fail(err, RF_ERR_MESH, "every node of the solid is fixed");
  RF_TRY(rf_metric_of_solid(solid, run, &metric, err));
  RF_TRY(rf_metric_copies(solid, &metric, run, count, shapes, &vectors, err));
  RF_TRY(rf_thin(run, count, 3 * (int64_t)solid->n_free, vectors, distance, keep, err));
done:
  rf_metric_free(&metric);
  rf_free(vectors);
  return st;
}
