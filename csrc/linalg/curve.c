#include "linalg/curve.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

enum { BITS = 16, RADIX = 256 };

typedef struct keyed {
  uint64_t key;
  int64_t index;
} keyed;

// Skilling, Programming the Hilbert curve, 2004.
static uint64_t place_of(uint32_t x[3]) {
  for (uint32_t q = 1u << (BITS - 1); q > 1; q >>= 1)
    for (int i = 0; i < 3; ++i) {
      const uint32_t swap = x[i] & q ? 0 : (x[0] ^ x[i]) & (q - 1);
      x[0] ^= x[i] & q ? q - 1 : swap;
      x[i] ^= swap;
    }
  x[1] ^= x[0];
  x[2] ^= x[1];
  uint32_t turn = 0;
  for (uint32_t q = 1u << (BITS - 1); q > 1; q >>= 1)
    if (x[2] & q) turn ^= q - 1;
  uint64_t place = 0;
  for (int bit = BITS - 1; bit >= 0; --bit)
    for (int i = 0; i < 3; ++i) place = place << 1 | ((x[i] ^ turn) >> bit & 1u);
  return place;
}

static bool is_finite(const double *p) {
  return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

static void set_keys(int64_t n, const double *points, keyed *k) {
  double low[3], longest = 0.0;
  int first = 0;
  for (int c = 0; c < 3; ++c) {
    double high = -INFINITY;
    low[c] = INFINITY;
    for (int64_t i = 0; i < n; ++i) {
      if (!is_finite(points + 3 * i)) continue;
      low[c] = fmin(low[c], points[3 * i + c]);
      high = fmax(high, points[3 * i + c]);
    }
    // halves first: the difference of finite numbers may overflow
    if (0.5 * high - 0.5 * low[c] > longest) {
      longest = 0.5 * high - 0.5 * low[c];
      first = c;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    uint32_t x[3];
    k[i] = (keyed){UINT64_MAX, i};
    if (!is_finite(points + 3 * i)) continue;
    for (int c = 0; c < 3; ++c) {
      const int axis = (first + c) % 3;
      const double part = (0.5 * points[3 * i + axis] - 0.5 * low[axis]) / longest;
      x[c] = longest > 0.0 ? (uint32_t)(part * ((1 << BITS) - 1)) : 0;
    }
    k[i].key = place_of(x);
  }
}

rf_status rf_curve_order(int64_t n, const double *points, int64_t *order, rf_error *err) {
  rf_status st = RF_OK;
  keyed *from = NULL, *to = NULL;
  RF_ALLOC(from, n);
  RF_ALLOC(to, n);
  set_keys(n, points, from);
  // radix sort by bytes; the last pass moves non-finite points to the end
  for (int byte = 0; byte <= 3 * BITS / 8; ++byte) {
    int64_t first[RADIX + 1] = {0};
    for (int64_t i = 0; i < n; ++i) ++first[(from[i].key >> (8 * byte) & (RADIX - 1)) + 1];
    for (int r = 0; r < RADIX; ++r) first[r + 1] += first[r];
    for (int64_t i = 0; i < n; ++i) to[first[from[i].key >> (8 * byte) & (RADIX - 1)]++] = from[i];
    keyed *swap = from;
    from = to;
    to = swap;
  }
  for (int64_t i = 0; i < n; ++i) order[i] = from[i].index;
done:
  rf_free(from);
  rf_free(to);
  return st;
}
