#include "pointshell/measure.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "pointshell/cells.h"
#include "pointshell/repulsion.h"

enum { CHUNK = 4096 };

// Fixed seed, so that gaps are comparable.
static const uint64_t GAP_SEED = 3;

typedef struct search {
  const rf_sampler *sampler;
  const rf_level_set *level_set;  // nullable
  const rf_cells *cells;
  const double *points, *normals;
  double spacing;
  uint64_t seed;
  int64_t samples;
  int32_t *nearest;  // nearest point of each sample, or NULL
  double *distance;  // distance to the nearest other point; or the largest one of each chunk
} search;

static rf_status neighbour_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const search *s = context;
  const int32_t n = s->cells->n, from = (int32_t)task * CHUNK;
  for (int32_t k = from; k < n && k < from + CHUNK; ++k) {
    const int32_t i = s->cells->item[k];
    const rf_cells_filter filter = {i, NULL, s->normals, s->normals + 3 * (size_t)i};
    double distance;
    const int32_t other =
        rf_cells_nearest(s->cells, s->points + 3 * (size_t)i, &filter, 1.5 * s->spacing, &distance);
    s->distance[i] = other >= 0 ? distance : NAN;
  }
  return RF_OK;
}

static rf_status sample_chunk(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const search *s = context;
  const rf_surface *surface = s->sampler->surface;
  double largest = 0.0;
  for (int64_t k = task * CHUNK; k < s->samples && k < (task + 1) * CHUNK; ++k) {
    double p[3], u[3], v[3], inwards[3], distance;
    const int32_t t = rf_sampler_draw_even(s->sampler, s->seed, k, s->samples, p);
    const int32_t *corner = surface->triangles + 3 * (size_t)t;
    const double *x = surface->vertices + 3 * (size_t)corner[0];
    rf_vec3_sub(surface->vertices + 3 * (size_t)corner[1], x, u);
    rf_vec3_sub(surface->vertices + 3 * (size_t)corner[2], x, v);
    rf_vec3_cross(v, u, inwards);
    const double length = rf_vec3_length(inwards);
    for (int c = 0; c < 3; ++c) inwards[c] = length > 0.0 ? inwards[c] / length : 0.0;
    memcpy(u, p, sizeof u);
    if (s->level_set && rf_level_set_settle(s->level_set, u, s->sampler->longest, v))
      for (int c = 0; c < 3; ++c) p[c] = u[c], inwards[c] = -v[c];
    rf_cells_filter filter = {-1, NULL, s->normals, inwards};
    int32_t nearest = rf_cells_nearest(s->cells, p, &filter, s->spacing, &distance);
    // a position without a point on its side belongs to the nearest point of any side
    filter.normals = NULL;
    if (nearest < 0) nearest = rf_cells_nearest(s->cells, p, &filter, s->spacing, &distance);
    if (s->nearest) s->nearest[k] = nearest;
    if (distance > largest) largest = distance;
  }
  s->distance[task] = largest;
  return RF_OK;
}

static rf_status check(int32_t n, const double *points, rf_error *err) {
  if (!(n >= 1))
    return rf_fail(err, RF_ERR_ARG, "there must be at least one point, got %d", (int)n);
  for (int32_t i = 0; i < n; ++i) {
    const double *x = points + 3 * (size_t)i;
    for (int c = 0; c < 3; ++c)
      if (!(fabs(x[c]) < RF_CELLS_FARTHEST))
        return rf_fail(err, RF_ERR_ARG, "points[%d] is (%g, %g, %g), too far from the origin",
                       (int)i, x[0], x[1], x[2]);
  }
  return RF_OK;
}

rf_status rf_shell_uniformity(const rf_sampler *sampler, const rf_level_set *level_set, int32_t n,
                              const double *points, const double *normals, int64_t samples,
                              const rf_run *run, rf_uniformity *out, rf_error *err) {
  rf_status st = check(n, points, err);
  if (st < 0) return st;
  if (samples < 0)
    return rf_fail(err, RF_ERR_ARG, "samples must be 0 or more, got %lld", (long long)samples);
  rf_cells cells = {0};
  double *distance = NULL;
  const int32_t chunks = (n - 1) / CHUNK + 1;
  const int64_t sample_chunks = samples > 0 ? (samples - 1) / CHUNK + 1 : 0;
  const double spacing = rf_hexagonal_spacing(sampler->area, n);
  *out =
      (rf_uniformity){.spacing = spacing, .mean = NAN, .deviation = NAN, .least = NAN, .gap = NAN};
  RF_ALLOC(distance, n > sample_chunks ? n : sample_chunks);
  RF_TRY(rf_cells_allocate(n, &cells, err));
  rf_cells_fill(&cells, n, points, 1.5 * spacing);
  search s = {.sampler = sampler,
              .level_set = level_set,
              .cells = &cells,
              .points = points,
              .normals = normals,
              .spacing = spacing,
              .seed = GAP_SEED,
              .samples = samples,
              .distance = distance};
  RF_TRY(rf_run_tasks(run, chunks, 0, neighbour_chunk, &s, err));
  double sum = 0.0, squares = 0.0, least = INFINITY;
  int32_t found = 0;
  for (int32_t i = 0; i < n; ++i) {
    if (isnan(distance[i])) continue;
    sum += distance[i];
    least = fmin(least, distance[i]);
    ++found;
  }
  if (found > 0) {
    const double mean = sum / found;
    for (int32_t i = 0; i < n; ++i)
      if (!isnan(distance[i])) squares += (distance[i] - mean) * (distance[i] - mean);
    out->mean = mean / spacing;
    out->deviation = sqrt(squares / found) / spacing;
    out->least = least / spacing;
  }
  if (samples > 0) {
    RF_TRY(rf_run_tasks(run, sample_chunks, 0, sample_chunk, &s, err));
    double gap = 0.0;
    for (int64_t k = 0; k < sample_chunks; ++k) gap = fmax(gap, distance[k]);
    out->gap = gap / spacing;
  }

done:
  rf_free(distance);
  rf_cells_free(&cells);
  return st;
}

rf_status rf_shell_areas(const rf_sampler *sampler, int32_t n, const double *points,
                         const double *normals, int32_t samples, uint64_t seed, const rf_run *run,
                         double *areas, rf_error *err) {
  rf_status st = check(n, points, err);
  if (st < 0) return st;
  if (!(samples >= 1))
    return rf_fail(err, RF_ERR_ARG, "samples must be 1 or more per point, got %d", (int)samples);
  // in batches, so that the memory does not grow with the number of samples
  enum { PORTION = 1 << 20 };
  rf_cells cells = {0};
  int32_t *nearest = NULL;
  double *distance = NULL;
  const int64_t all = (int64_t)n * samples;
  const double spacing = rf_hexagonal_spacing(sampler->area, n);
  RF_ALLOC(nearest, all < PORTION ? all : PORTION);
  RF_ALLOC(distance, PORTION / CHUNK + 1);
  RF_TRY(rf_cells_allocate(n, &cells, err));
  rf_cells_fill(&cells, n, points, 1.5 * spacing);
  for (int32_t i = 0; i < n; ++i) areas[i] = 0.0;
  const int64_t portions = (all - 1) / PORTION + 1;
  for (int64_t k = 0; k < portions; ++k) {
    // each batch is a stratified sample of the whole surface
    const int64_t count = all * (k + 1) / portions - all * k / portions;
    search s = {.sampler = sampler,
                .cells = &cells,
                .points = points,
                .normals = normals,
                .spacing = spacing,
                .seed = rf_seed(seed, (uint64_t)k),
                .samples = count,
                .nearest = nearest,
                .distance = distance};
    RF_TRY(rf_run_tasks(run, (count - 1) / CHUNK + 1, 0, sample_chunk, &s, err));
    for (int64_t j = 0; j < count; ++j) areas[nearest[j]] += sampler->area / (double)all;
    RF_TRY(rf_run_progress(run, k + 1, portions, err));
  }

done:
  rf_free(nearest);
  rf_free(distance);
  rf_cells_free(&cells);
  return st;
}
