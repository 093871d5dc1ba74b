// Template: included by field_body.h, for each instruction set.  Interpolation of grids.
//
// A single point is interpolated along x, then y, then z: the four samples with the lower x are one
// vector, those with the higher x another.  Many points are interpolated four at a time, one per
// lane, in the same order: their samples are located and prefetched AHEAD points before their use,
// to keep the memory busy.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "linalg/simd_body.h"
#include "linalg/vec3.h"
#include "sdf/grid.h"

// Out of line, to keep rare cases from slowing down the common ones.
#define APART static __attribute__((noinline))

// Numbers of points: the samples of RING points, 4 lines each, fit into the first-level cache.
enum { RING = 32, AHEAD = 28 };

typedef float rf_f4 __attribute__((vector_size(16)));
typedef uint64_t rf_u2 __attribute__((vector_size(16)));
typedef int32_t rf_i4 __attribute__((vector_size(16)));
typedef double rf_d2 __attribute__((vector_size(16)));

// Conversions of four values: compilers split the portable ones in halves.
#if defined(__AVX__) && !defined(__clang__)
RF_INLINE rf_v4 of_floats(rf_f4 x) { return __builtin_ia32_cvtps2pd256(x); }
RF_INLINE rf_v4 of_integers(rf_i4 x) { return __builtin_ia32_cvtdq2pd256(x); }
RF_INLINE rf_i4 whole_part(rf_v4 x) { return __builtin_ia32_cvttpd2dq256(x); }
#else
RF_INLINE rf_v4 of_floats(rf_f4 x) { return __builtin_convertvector(x, rf_v4); }
RF_INLINE rf_v4 of_integers(rf_i4 x) { return __builtin_convertvector(x, rf_v4); }
RF_INLINE rf_i4 whole_part(rf_v4 x) { return __builtin_convertvector(x, rf_i4); }
#endif

// Position among the samples: lowest corner of the cell, and local coordinates in it.
typedef struct cell {
  int32_t at;
  double x, y, z;
} cell;

RF_INLINE double held(double t, double last) { return t > 0.0 ? (t < last ? t : last) : 0.0; }

RF_INLINE cell locate(const rf_grid *g, double px, double py, double pz) {
  const double x = held((px - g->origin[0]) * g->inverse[0], (double)(g->n[0] - 1));
  const double y = held((py - g->origin[1]) * g->inverse[1], (double)(g->n[1] - 1));
  const double z = held((pz - g->origin[2]) * g->inverse[2], (double)(g->n[2] - 1));
  const int32_t i = (int32_t)x < g->n[0] - 2 ? (int32_t)x : g->n[0] - 2;
  const int32_t j = (int32_t)y < g->n[1] - 2 ? (int32_t)y : g->n[1] - 2;
  const int32_t k = (int32_t)z < g->n[2] - 2 ? (int32_t)z : g->n[2] - 2;
  return (cell){(i * g->n[1] + j) * g->n[2] + k, x - i, y - j, z - k};
}

// Loads two adjacent samples along z, and the two of the next row.
RF_INLINE rf_v4 four_samples(const float *v, size_t row) {
  rf_u2 pairs;
  uint64_t first, second;
  memcpy(&first, v, sizeof first);
  memcpy(&second, v + row, sizeof second);
  pairs = (rf_u2){first, second};
  return of_floats((rf_f4)pairs);
}

RF_INLINE rf_d2 low_half(rf_v4 v) { return (rf_d2){v[0], v[1]}; }
RF_INLINE rf_d2 high_half(rf_v4 v) { return (rf_d2){v[2], v[3]}; }
RF_INLINE double mix(double t, rf_d2 v) { return v[0] + t * (v[1] - v[0]); }

// The coordinates of a point, the last one twice.
RF_INLINE rf_v4 lanes_of(const double *p) { return (rf_v4){p[0], p[1], p[2], p[2]}; }

// True if q is inside the box; false for NaN.
RF_INLINE bool inside(const rf_grid *g, rf_v4 q) {
  return rf_all4((rf_m4)(q >= rf_load4(g->lanes_low)) & (rf_m4)(q <= rf_load4(g->lanes_high)));
}

// The cell of a point inside the box; the same bits as locate.
RF_INLINE cell locate_inside(const rf_grid *g, rf_v4 q) {
  const rf_v4 t = (q - rf_load4(g->lanes_low)) * rf_load4(g->lanes_inverse);
  const rf_i4 at = whole_part(rf_least4(t, rf_load4(g->lanes_cell)));
  const rf_v4 into = rf_least4(t, rf_load4(g->lanes_end)) - of_integers(at);
  return (cell){(at[0] * g->n[1] + at[1]) * g->n[2] + at[2], into[0], into[1], into[2]};
}

RF_INLINE double interpolate(const rf_grid *g, cell at, double *gradient) {
  const size_t row = (size_t)g->n[2], plane = (size_t)g->n[1] * row;
  const float *v = g->values + at.at;
  const rf_v4 low = four_samples(v, row), step = four_samples(v + plane, row) - low;
  const rf_v4 face = low + rf_splat(at.x) * step;
  const rf_d2 near = low_half(face), across = high_half(face) - near;
  const rf_d2 line = near + ((rf_d2){at.y, at.y}) * across;
  if (gradient) {
    const rf_d2 first = low_half(step);
    gradient[0] =
        mix(at.z, first + ((rf_d2){at.y, at.y}) * (high_half(step) - first)) * g->inverse[0];
    gradient[1] = mix(at.z, across) * g->inverse[1];
    gradient[2] = (line[1] - line[0]) * g->inverse[2];
  }
  return mix(at.z, line);
}

RF_INLINE double outside_value(const rf_grid *g, double square) {
  return sqrt(square) + (g->boundary > 0.0 ? g->boundary : 0.0);
}

// Returns the value outside the box, or for NaN.
APART double value_outside(const rf_grid *g, const double *p, double *gradient) {
  double way[3];
  rf_vec3_beyond(p, g->origin, g->corner, way);
  const double square = rf_vec3_dot(way, way);
  if (!(square == 0.0)) {
    const double out = sqrt(square);
    for (int c = 0; c < 3 && gradient; ++c) gradient[c] = way[c] / out;
    return outside_value(g, square);
  }
  return interpolate(g, locate(g, p[0], p[1], p[2]), gradient);
}

// Returns the value of a grid; gradient is nullable.
RF_INLINE double grid_value(const rf_grid *g, const double *p, double *gradient) {
  const rf_v4 q = {p[0], p[1], p[2], p[2]};
  const rf_m4 out =
      (rf_m4)(q < rf_load4(g->lanes_low)) | (rf_m4)(q > rf_load4(g->lanes_high)) | (rf_m4)(q != q);
  if (rf_any4(out)) return value_outside(g, p, gradient);
  return interpolate(g, locate_inside(g, q), gradient);
}

// Located samples of several points, four at a time, before interpolation.
typedef struct ring {
  int32_t at[RING];
  int32_t cell[3][RING];  // along each axis
  double into[3][RING];
  double square[RING];  // squared distances to the box
} ring;

RF_INLINE void find_four(const rf_grid *g, const double *p, int32_t i, ring *r) {
  rf_v4 way[3];
  rf_i4 index = {0, 0, 0, 0};
  for (int c = 0; c < 3; ++c) {
    const rf_v4 q = {p[c], p[3 + c], p[6 + c], p[9 + c]};
    way[c] = q - rf_least4(rf_splat(g->corner[c]), rf_most4(rf_splat(g->origin[c]), q));
    rf_v4 t = (q - rf_splat(g->origin[c])) * rf_splat(g->inverse[c]);
    t = rf_least4(rf_most4(t, rf_splat(0.0)), rf_splat((double)(g->n[c] - 1)));
    // the last sample belongs to the cell before it
    const rf_i4 at = whole_part(rf_least4(t, rf_splat(g->lanes_cell[c])));
    rf_store4(r->into[c] + i, t - of_integers(at));
    memcpy(r->cell[c] + i, &at, sizeof at);
    index = index * g->n[c] + at;
  }
  rf_store4(r->square + i, way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
  memcpy(r->at + i, &index, sizeof index);
}

// Prefetches the samples around a cell along x and y; the address may lie outside the grid.
// Samples along z are in the lines of the cell, which the distance query has left in the caches.
RF_INLINE void ask_around(const float *v, size_t plane, size_t row) {
  const uintptr_t at = (uintptr_t)v;
  const uintptr_t x = plane * sizeof *v, y = row * sizeof *v;
  __builtin_prefetch((const void *)(at - x));
  __builtin_prefetch((const void *)(at - x + y));
  __builtin_prefetch((const void *)(at + 2 * x));
  __builtin_prefetch((const void *)(at + 2 * x + y));
  __builtin_prefetch((const void *)(at - y));
  __builtin_prefetch((const void *)(at - y + x));
  __builtin_prefetch((const void *)(at + 2 * y));
  __builtin_prefetch((const void *)(at + 2 * y + x));
}

// Locates four points, of which n are given, and prefetches their samples; around: also those of
// the neighbouring cells, for central differences.
RF_INLINE void find_some(const rf_grid *g, int32_t n, const double *p, int32_t i, bool around,
                         ring *r) {
  const size_t row = (size_t)g->n[2], plane = (size_t)g->n[1] * row;
  double last[12];
  if (n < 4) {
    // repeat the given points in place of missing ones
    for (int32_t k = 0; k < 12; ++k) last[k] = k < 3 * n ? p[k] : p[k % 3];
    p = last;
  }
  find_four(g, p, i, r);
  for (int32_t k = i; k < i + 4; ++k) {
    const float *v = g->values + r->at[k];
    if (around) {
      ask_around(v, plane, row);
      continue;
    }
    __builtin_prefetch(v);
    __builtin_prefetch(v + row);
    __builtin_prefetch(v + plane);
    __builtin_prefetch(v + plane + row);
  }
}

// The samples of four points at v, and the next ones along z.
RF_INLINE void eight_samples(const float *v, const int32_t *at, rf_v4 *near, rf_v4 *far) {
  uint64_t pair[4];
  for (int k = 0; k < 4; ++k) memcpy(&pair[k], v + at[k], sizeof pair[k]);
  const rf_f4 a = (rf_f4)((rf_u2){pair[0], pair[1]}), b = (rf_f4)((rf_u2){pair[2], pair[3]});
#if defined(__clang__)
  *near = of_floats(__builtin_shufflevector(a, b, 0, 2, 4, 6));
  *far = of_floats(__builtin_shufflevector(a, b, 1, 3, 5, 7));
#else
  *near = of_floats(__builtin_shuffle(a, b, (rf_i4){0, 2, 4, 6}));
  *far = of_floats(__builtin_shuffle(a, b, (rf_i4){1, 3, 5, 7}));
#endif
}

// Samples at the corners of the cells of four points, by x, y and z.
typedef rf_v4 corners[2][2][2];

// Interpolates four points; gradient: x, y and z of the four, for those inside the box; nullable.
RF_INLINE rf_v4 use_corners(const rf_grid *g, const ring *r, int32_t i, corners at,
                            rf_v4 *gradient) {
  const rf_v4 x = rf_load4(r->into[0] + i), y = rf_load4(r->into[1] + i),
              z = rf_load4(r->into[2] + i);
  rf_v4 line[2][2], step[2][2];
  for (int b = 0; b < 2; ++b)
    for (int c = 0; c < 2; ++c) {
      step[b][c] = at[1][b][c] - at[0][b][c];
      line[b][c] = at[0][b][c] + x * step[b][c];
    }
  rf_v4 across[2], end[2];
  for (int c = 0; c < 2; ++c) {
    across[c] = line[1][c] - line[0][c];
    end[c] = line[0][c] + y * across[c];
  }
  if (gradient) {
    const rf_v4 near = step[0][0] + y * (step[1][0] - step[0][0]),
                far = step[0][1] + y * (step[1][1] - step[0][1]);
    gradient[0] = (near + z * (far - near)) * rf_splat(g->inverse[0]);
    gradient[1] = (across[0] + z * (across[1] - across[0])) * rf_splat(g->inverse[1]);
    gradient[2] = (end[1] - end[0]) * rf_splat(g->inverse[2]);
  }
  rf_v4 value = end[0] + z * (end[1] - end[0]);
  if (rf_any4((rf_m4)(rf_load4(r->square + i) != 0.0)))
    for (int k = 0; k < 4; ++k)
      if (r->square[i + k] != 0.0) value[k] = outside_value(g, r->square[i + k]);
  return value;
}

RF_INLINE rf_v4 use_four(const rf_grid *g, const ring *r, int32_t i, rf_v4 *gradient) {
  const size_t row = (size_t)g->n[2], plane = (size_t)g->n[1] * row;
  corners at;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) {
      const float *v = g->values + (a ? plane : 0) + (b ? row : 0);
      eight_samples(v, r->at + i, &at[a][b][0], &at[a][b][1]);
    }
  return use_corners(g, r, i, at, gradient);
}

// ---- differences over a spacing ---------------------------------------------------

// Samples for central differences at four points: the corners of their cells and, along each axis,
// the samples before and behind these, by the two other axes.
typedef struct around {
  corners cell;
  rf_v4 before[3][2][2], behind[3][2][2];
  rf_v4 half[3][2];  // 0.5, or 1 at a side of the grid, where a neighbour is missing
} around;

#if defined(__clang__)
#define SHUFFLE_F4(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define SHUFFLE_F4(a, b, i, j, k, l) __builtin_shuffle(a, b, (rf_i4){i, j, k, l})
#endif

// The four samples at v along z, for four points.
RF_INLINE void sixteen_samples(const float *v, const int32_t *at, rf_v4 out[4]) {
  rf_f4 p[4];
  for (int k = 0; k < 4; ++k) memcpy(&p[k], v + at[k], sizeof p[k]);
  const rf_f4 a = SHUFFLE_F4(p[0], p[1], 0, 4, 1, 5), b = SHUFFLE_F4(p[2], p[3], 0, 4, 1, 5);
  const rf_f4 c = SHUFFLE_F4(p[0], p[1], 2, 6, 3, 7), d = SHUFFLE_F4(p[2], p[3], 2, 6, 3, 7);
  out[0] = of_floats(SHUFFLE_F4(a, b, 0, 1, 4, 5));
  out[1] = of_floats(SHUFFLE_F4(a, b, 2, 3, 6, 7));
  out[2] = of_floats(SHUFFLE_F4(c, d, 0, 1, 4, 5));
  out[3] = of_floats(SHUFFLE_F4(c, d, 2, 3, 6, 7));
}

RF_INLINE void take_inner(const rf_grid *g, const ring *r, int32_t i, around *s) {
  const size_t row = (size_t)g->n[2], plane = (size_t)g->n[1] * row;
  const int32_t *at = r->at + i;
  const float *v = g->values;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) {
      rf_v4 line[4];
      sixteen_samples(v + (a ? plane : 0) + (b ? row : 0) - 1, at, line);
      s->before[2][a][b] = line[0];
      s->cell[a][b][0] = line[1];
      s->cell[a][b][1] = line[2];
      s->behind[2][a][b] = line[3];
    }
  for (int b = 0; b < 2; ++b) {
    const float *x = v + (b ? row : 0), *y = v + (b ? plane : 0);
    eight_samples(x - plane, at, &s->before[0][b][0], &s->before[0][b][1]);
    eight_samples(x + 2 * plane, at, &s->behind[0][b][0], &s->behind[0][b][1]);
    eight_samples(y - row, at, &s->before[1][b][0], &s->before[1][b][1]);
    eight_samples(y + 2 * row, at, &s->behind[1][b][0], &s->behind[1][b][1]);
  }
  for (int c = 0; c < 3; ++c) s->half[c][0] = s->half[c][1] = rf_splat(0.5);
}

// The same for one point, which may be at a side of the grid.
APART void take_side(const rf_grid *g, const ring *r, int32_t i, int k, around *s) {
  const size_t step[3] = {(size_t)g->n[1] * (size_t)g->n[2], (size_t)g->n[2], 1};
  const float *v = g->values + r->at[i + k];
  for (int c = 0; c < 3; ++c) {
    const bool first = r->cell[c][i + k] == 0, last = r->cell[c][i + k] == g->n[c] - 2;
    const size_t back = first ? 0 : step[c], on = last ? step[c] : 2 * step[c];
    const size_t p = step[c == 0 ? 1 : 0], q = step[c == 2 ? 1 : 2];
    s->half[c][0][k] = first ? 1.0 : 0.5;
    s->half[c][1][k] = last ? 1.0 : 0.5;
    for (int a = 0; a < 2; ++a)
      for (int b = 0; b < 2; ++b) {
        const float *w = v + (a ? p : 0) + (b ? q : 0);
        s->before[c][a][b][k] = (double)*(w - back);
        s->behind[c][a][b][k] = (double)w[on];
      }
  }
  for (int a = 0; a < 8; ++a)
    s->cell[a >> 2][a >> 1 & 1][a & 1][k] =
        (double)v[(a >> 2 ? step[0] : 0) + (a >> 1 & 1 ? step[1] : 0) + (a & 1 ? 1 : 0)];
}

RF_INLINE bool all_inner(const rf_grid *g, const ring *r, int32_t i) {
  rf_i4 inner = {-1, -1, -1, -1};
  for (int c = 0; c < 3; ++c) {
    rf_i4 of;
    memcpy(&of, r->cell[c] + i, sizeof of);
    inner &= (rf_i4)(of > 0) & (rf_i4)(of < g->n[c] - 2);
  }
  return (inner[0] & inner[1] & inner[2] & inner[3]) != 0;
}

RF_INLINE rf_v4 mix4(rf_v4 t, rf_v4 a, rf_v4 b) { return a + t * (b - a); }

// Differences of the neighbours of the two ends of an edge, interpolated along it at t, then along
// the two other axes at u and w.  `s` by the axis, then by these.
RF_INLINE rf_v4 difference(rf_v4 t, rf_v4 u, rf_v4 w, const rf_v4 half[2], const rf_v4 before[2][2],
                           const rf_v4 low[2][2], const rf_v4 high[2][2],
                           const rf_v4 behind[2][2]) {
  const rf_v4 first = half[0] * (rf_splat(1.0) - t), last = half[1] * t;
  rf_v4 d[2][2];
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b)
      d[a][b] = first * (high[a][b] - before[a][b]) + last * (behind[a][b] - low[a][b]);
  return mix4(w, mix4(u, d[0][0], d[1][0]), mix4(u, d[0][1], d[1][1]));
}

RF_INLINE rf_v4 finish_around(const rf_grid *g, const ring *r, int32_t i, around *s, rf_v4 *slope) {
  const rf_v4 x = rf_load4(r->into[0] + i), y = rf_load4(r->into[1] + i),
              z = rf_load4(r->into[2] + i);
  rf_v4 low[2][2], high[2][2];
  slope[0] = difference(x, y, z, s->half[0], s->before[0], s->cell[0], s->cell[1], s->behind[0]) *
             rf_splat(g->inverse[0]);
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) low[a][b] = s->cell[a][0][b], high[a][b] = s->cell[a][1][b];
  slope[1] = difference(y, x, z, s->half[1], s->before[1], low, high, s->behind[1]) *
             rf_splat(g->inverse[1]);
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) low[a][b] = s->cell[a][b][0], high[a][b] = s->cell[a][b][1];
  slope[2] = difference(z, x, y, s->half[2], s->before[2], low, high, s->behind[2]) *
             rf_splat(g->inverse[2]);
  return use_corners(g, r, i, s->cell, NULL);
}

APART rf_v4 use_side(const rf_grid *g, const ring *r, int32_t i, rf_v4 *slope) {
  around s;
  for (int k = 0; k < 4; ++k) take_side(g, r, i, k, &s);
  return finish_around(g, r, i, &s, slope);
}

// Computes central differences of the interpolant over a spacing to both sides, as interpolated
// differences of samples.  slope: x, y and z of the four points, for those inside the box.
RF_INLINE rf_v4 use_around(const rf_grid *g, const ring *r, int32_t i, rf_v4 *slope) {
  if (!all_inner(g, r, i)) return use_side(g, r, i, slope);
  around s;
  take_inner(g, r, i, &s);
  return finish_around(g, r, i, &s, slope);
}

// Evaluates a grid at n points; gradient is nullable; central: differences over a spacing replace
// it.
RF_INLINE void grid_values(const rf_grid *g, int32_t n, const double *p, double offset,
                           bool least_of, bool central, double *distance, double *gradient) {
  ring r;
  for (int32_t i = 0; i < n && i < AHEAD; i += 4)
    find_some(g, n - i, p + 3 * (size_t)i, i, central, &r);
  for (int32_t i = 0; i < n; i += 4) {
    if (i < n - AHEAD)
      find_some(g, n - i - AHEAD, p + 3 * (size_t)(i + AHEAD), (i + AHEAD) % RING, central, &r);
    rf_v4 slope[4] = {0};
    rf_v4 d = (central ? use_around(g, &r, i % RING, slope)
                       : use_four(g, &r, i % RING, gradient ? slope : NULL)) -
              rf_splat(offset);
    if (gradient) {
      rf_transpose4(slope);
      for (int32_t k = i; k < n && k < i + 4; ++k) {
        if (least_of && !(d[k - i] < distance[k])) continue;
        distance[k] = d[k - i];
        memcpy(gradient + 3 * (size_t)k, &slope[k - i], 3 * sizeof *gradient);
        if (r.square[i % RING + k - i] != 0.0)
          grid_value(g, p + 3 * (size_t)k, gradient + 3 * (size_t)k);
      }
      continue;
    }
    if (n - i >= 4) {
      if (least_of) d = rf_least4(d, rf_load4(distance + i));
      rf_store4(distance + i, d);
      continue;
    }
    for (int32_t k = i; k < n; ++k)
      distance[k] = !least_of || d[k - i] < distance[k] ? d[k - i] : distance[k];
  }
}
