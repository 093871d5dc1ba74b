#include "world/broad.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"

static int widest_axis(int32_t n, const rf_broad_sphere *s) {
  double sum[3] = {0.0}, square[3] = {0.0};
  int best = 0;
  for (int32_t k = 0; k < n; ++k)
    for (int i = 0; i < 3; ++i) {
      const double x = s[k].centre[i] - s[0].centre[i];
      sum[i] += x;
      square[i] += x * x;
    }
  for (int i = 0; i < 3; ++i) {
    square[i] -= sum[i] * sum[i] / n;
    if (square[i] > square[best]) best = i;
  }
  return best;
}

static int by_low(const void *a, const void *b) {
  const rf_broad_end *x = a, *y = b;
  if (x->low != y->low) return x->low < y->low ? -1 : 1;
  return (x->sphere > y->sphere) - (x->sphere < y->sphere);
}

static int by_bodies(const void *a, const void *b) {
  const rf_broad_pair *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return (x->second > y->second) - (x->second < y->second);
}

static rf_status add_pair(rf_broad *b, int32_t i, int32_t j, rf_error *err) {
  rf_status st = RF_OK;
  rf_broad_pair *more = NULL;
  if (b->n_pairs == b->room) {
    const int32_t room = 2 * b->room + 64;
    RF_ALLOC(more, room);
    if (b->n_pairs) memcpy(more, b->pairs, (size_t)b->n_pairs * sizeof *more);
    rf_free(b->pairs);
    b->pairs = more;
    b->room = room;
  }
  b->pairs[b->n_pairs++] = i < j ? (rf_broad_pair){i, j} : (rf_broad_pair){j, i};
done:
  return st;
}

static bool overlap(const rf_broad_sphere *a, const rf_broad_sphere *b) {
  double offset[3];
  rf_vec3_sub(a->centre, b->centre, offset);
  const double reach = a->radius + b->radius;
  return rf_vec3_dot(offset, offset) <= reach * reach;
}

static rf_status make_ends(rf_broad *b, int32_t n, const rf_broad_sphere *s, rf_error *err) {
  rf_status st = RF_OK;
  if (b->n_ends < n) {
    rf_free(b->ends);
    b->ends = NULL;
    b->n_ends = 0;
    RF_ALLOC(b->ends, n);
    b->n_ends = n;
  }
  const int axis = n > 0 ? widest_axis(n, s) : 0;
  for (int32_t k = 0; k < n; ++k) {
    const double at = s[k].centre[axis];
    b->ends[k] = (rf_broad_end){at - s[k].radius, at + s[k].radius, k};
  }
done:
  return st;
}

rf_status rf_broad_search(rf_broad *b, int32_t n, const rf_broad_sphere *s, rf_error *err) {
  rf_status st = RF_OK;
  b->n_pairs = 0;
  RF_TRY(make_ends(b, n, s, err));
  if (n > 0) qsort(b->ends, (size_t)n, sizeof *b->ends, by_low);
  for (int32_t i = 0; i < n; ++i) {
    const rf_broad_end *e = b->ends + i;
    if (s[e->sphere].radius < 0.0) continue;
    for (int32_t j = i + 1; j < n && b->ends[j].low <= e->high; ++j) {
      const int32_t other = b->ends[j].sphere;
      if (s[other].radius >= 0.0 && overlap(&s[e->sphere], &s[other]))
        RF_TRY(add_pair(b, e->sphere, other, err));
    }
  }
  if (b->n_pairs) qsort(b->pairs, (size_t)b->n_pairs, sizeof *b->pairs, by_bodies);
done:
  return st;
}

void rf_broad_free(rf_broad *b) {
  rf_free(b->pairs);
  rf_free(b->ends);
}
