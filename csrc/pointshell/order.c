#include "pointshell/order.h"

#include <math.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/vec3.h"
#include "pointshell/cells.h"
#include "pointshell/repulsion.h"

enum { POLL = 1024, WORTH_SORTING = 32 };

// Heap of the remaining points, the farthest one first.
typedef struct heap {
  int32_t n;
  int32_t *item;   // point at each heap position        (n)
  int32_t *place;  // heap position of each point; -1: taken
  double *square;  // squared distance of each point to the nearest taken one
} heap;

static int before(const heap *h, int32_t a, int32_t b) {
  const double x = h->square[a], y = h->square[b];
  return x > y || (x == y && a < b);
}

static void sink(heap *h, int32_t at) {
  const int32_t moving = h->item[at];
  for (;;) {
    int32_t child = 2 * at + 1;
    if (child >= h->n) break;
    if (child + 1 < h->n && before(h, h->item[child + 1], h->item[child])) ++child;
    if (!before(h, h->item[child], moving)) break;
    h->item[at] = h->item[child];
    h->place[h->item[at]] = at;
    at = child;
  }
  h->item[at] = moving;
  h->place[moving] = at;
}

static int32_t take_first(heap *h) {
  const int32_t first = h->item[0];
  h->place[first] = -1;
  --h->n;
  if (h->n > 0) {
    h->item[0] = h->item[h->n];
    sink(h, 0);
  }
  return first;
}

// Returns half the longest side of the points' bounding box.
static double half_extent(int32_t n, const double *points) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (size_t i = 0; i < 3 * (size_t)n; ++i) {
    low[i % 3] = fmin(low[i % 3], points[i]);
    high[i % 3] = fmax(high[i % 3], points[i]);
  }
  double half = 0.0;
  for (int c = 0; c < 3; ++c) half = fmax(half, 0.5 * high[c] - 0.5 * low[c]);
  return half;
}

rf_status rf_farthest_order(int32_t n, const double *points, const rf_run *run, int32_t *order,
                            rf_error *err) {
  if (!(n >= 1))
    return rf_fail(err, RF_ERR_ARG, "there must be at least one point, got %d", (int)n);
  for (size_t i = 0; i < 3 * (size_t)n; ++i)
    if (!isfinite(points[i]))
      return rf_fail(err, RF_ERR_ARG, "points[%zu, %zu] is %g; every value must be finite", i / 3,
                     i % 3, points[i]);
  rf_status st = RF_OK;
  rf_cells cells = {0};
  double *scaled = NULL;
  heap h = {.n = n};
  RF_ALLOC(h.item, n);
  RF_ALLOC(h.place, n);
  RF_ALLOC(h.square, n);
  RF_TRY(rf_cells_allocate(n, &cells, err));
  // rescale if squares of distances would over- or underflow
  const double half = half_extent(n, points);
  if (half > 0.0 && !(half > 1e-100 && half < 1e100)) {
    RF_ALLOC(scaled, 3 * (size_t)n);
    int exponent;
    (void)frexp(half, &exponent);
    for (size_t i = 0; i < 3 * (size_t)n; ++i) scaled[i] = ldexp(points[i], -exponent);
    points = scaled;
  }
  // a few points per cell if they lie on a surface
  const double extent = 2.0 * half_extent(n, points);
  rf_cells_fill(&cells, n, points, rf_hexagonal_spacing(6.0 * extent * extent, n));
  int64_t looked_at = 0;
  // point 0 comes first; the others are infinitely far until it is taken
  for (int32_t i = 0; i < n; ++i) {
    h.item[i] = h.place[i] = i;
    h.square[i] = INFINITY;
  }
  for (int32_t k = 0; k < n; ++k) {
    const int32_t taken = take_first(&h);
    const double *p = points + 3 * (size_t)taken;
    order[k] = taken;
    // no point is farther from the taken ones than this one was; at 0 only duplicates remain
    const double square = h.square[taken], radius = sqrt(square);
    // parts that are small and far apart occupy few cells: sort into smaller cells once the visits
    // so far cost as much as the sorting
    if (looked_at > WORTH_SORTING * (int64_t)n && radius < 0.5 / cells.inverse && radius > 0.0) {
      rf_cells_fill(&cells, n, points, radius);
      looked_at = 0;
    }
    rf_cells_walk walk;
    int32_t at, end;
    rf_cells_begin(&cells, p, 1.000001 * radius, &walk);
    while (radius > 0.0 && rf_cells_next(&cells, &walk, &at, &end)) {
      looked_at += end - at;
      for (; at < end; ++at) {
        const int32_t other = cells.item[at];
        double d[3];
        rf_vec3_sub(cells.x + 3 * (size_t)at, p, d);
        const double r2 = rf_vec3_dot(d, d);
        if (!(r2 < h.square[other]) || h.place[other] < 0) continue;
        h.square[other] = r2;
        sink(&h, h.place[other]);
      }
    }
    if (k % POLL == POLL - 1 || k == n - 1) RF_TRY(rf_run_progress(run, k + 1, n, err));
  }

done:
  rf_free(scaled);
  rf_free(h.item);
  rf_free(h.place);
  rf_free(h.square);
  rf_cells_free(&cells);
  return st;
}
