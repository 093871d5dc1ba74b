#include "pointshell/blend.h"

#include <math.h>
#include <string.h>

#include "base/run.h"
#include "linalg/vec3.h"

enum { K = RF_SHELL_BLEND_NEAREST, BATCH = 64 };
static const double SAME = 1e-9;  // least distance over that of the farthest

typedef struct build {
  const rf_shell_blend_points *points, *places;
  int32_t *number;
  double *weight;
} build;

typedef struct nearest {
  int32_t n, number[K];
  double square[K];
} nearest;

// Keeps a point among the nearest, in the order of their distances.
static void keep(nearest *found, int32_t number, double square) {
  int32_t k = found->n < K ? found->n++ : K - 1;
  for (; k > 0 && found->square[k - 1] > square; --k) {
    found->square[k] = found->square[k - 1];
    found->number[k] = found->number[k - 1];
  }
  found->square[k] = square;
  found->number[k] = number;
}

static void search(const build *b, int64_t place, nearest *found) {
  const double *x = b->places->at + 3 * place, *normal = b->places->outward + 3 * place;
  double best = INFINITY;
  int32_t any = 0;
  found->n = 0;
  for (int32_t i = 0; i < b->points->n; ++i) {
    double way[3];
    rf_vec3_sub(b->points->at + 3 * (int64_t)i, x, way);
    const double square = rf_vec3_dot(way, way);
    if (square < best) {
      best = square;
      any = i;
    }
    if (found->n == K && !(square < found->square[K - 1])) continue;
    if (rf_vec3_dot(b->points->outward + 3 * (int64_t)i, normal) > 0.0) keep(found, i, square);
  }
  if (found->n == 0) keep(found, any, best);
}

static rf_status place_task(void *context, int64_t task, int worker, rf_error *err) {
  const build *b = context;
  const int64_t end = BATCH * (task + 1) < b->places->n ? BATCH * (task + 1) : b->places->n;
  (void)worker;
  (void)err;
  for (int64_t p = BATCH * task; p < end; ++p) {
    int32_t *number = b->number + K * p;
    double *weight = b->weight + K * p, sum = 0.0;
    nearest found;
    memset(number, 0, K * sizeof *number);
    memset(weight, 0, K * sizeof *weight);
    search(b, p, &found);
    const double farthest = sqrt(found.square[found.n - 1]);
    memcpy(number, found.number, (size_t)found.n * sizeof *number);
    for (int32_t k = 0; k < found.n; ++k) {
      const double distance = fmax(sqrt(found.square[k]), SAME * farthest);
      const double share = farthest > 0.0 ? farthest / distance - 1.0 : k == 0;
      weight[k] = share * share;
      sum += weight[k];
    }
    if (!(sum > 0.0)) weight[0] = sum = 1.0;  // all at the same distance
    for (int32_t k = 0; k < found.n; ++k) weight[k] /= sum;
  }
  return RF_OK;
}

rf_status rf_shell_blend(const rf_shell_blend_points *points, const rf_shell_blend_points *places,
                         const rf_run *run, int32_t *number, double *weight, rf_error *err) {
  build b = {.points = points, .places = places, .number = number, .weight = weight};
  return rf_run_tasks(run, ((int64_t)places->n + BATCH - 1) / BATCH, 1, place_task, &b, err);
}
