// Body of the variants of field_rt.c.  Needs RF_WIDTH 4 and RF_NAME (linalg/simd.h).
//
// One place is interpolated along x, then y, then z: the four samples with the lower x are one
// vector, those with the higher x another.  Many places are taken in blocks: where their samples
// are is found for a whole block, and the samples asked for, before the first is used.
#include <math.h>
#include <stddef.h>

#include "linalg/simd_body.h"
#include "linalg/vec3.h"
#include "sdf/field_kernels.h"

enum { BLOCK = 32 };  // places: their samples, 4 lines each, are a fraction of the first cache

typedef float rf_f4 __attribute__((vector_size(16)));
typedef uint64_t rf_u2 __attribute__((vector_size(16)));
typedef double rf_d2 __attribute__((vector_size(16)));

// ---- grids ------------------------------------------------------------------------

// where a place is among the samples: the lowest corner of its cell, and how far into it
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

// two samples that follow each other along z, and the two of the next row
RF_INLINE rf_v4 four_samples(const float *v, size_t row) {
  rf_u2 pairs;
  uint64_t first, second;
  memcpy(&first, v, sizeof first);
  memcpy(&second, v + row, sizeof second);
  pairs = (rf_u2){first, second};
  return __builtin_convertvector((rf_f4)pairs, rf_v4);
}

RF_INLINE rf_d2 low_half(rf_v4 v) { return (rf_d2){v[0], v[1]}; }
RF_INLINE rf_d2 high_half(rf_v4 v) { return (rf_d2){v[2], v[3]}; }
RF_INLINE double mix(double t, rf_d2 v) { return v[0] + t * (v[1] - v[0]); }

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

// how far a coordinate is beyond a side; what is no number is no number
RF_INLINE double beyond(double p, double low, double high) {
  return p - (p < low ? low : p > high ? high : p);
}

RF_INLINE double outside_value(const rf_grid *g, double square) {
  return sqrt(square) + (g->boundary > 0.0 ? g->boundary : 0.0);
}

// gradient is nullable
RF_INLINE double grid_value(const rf_grid *g, const double *p, double *gradient) {
  double way[3];
  for (int c = 0; c < 3; ++c) way[c] = beyond(p[c], g->origin[c], g->corner[c]);
  const double square = rf_vec3_dot(way, way);
  if (!(square == 0.0)) {
    const double out = sqrt(square);
    for (int c = 0; c < 3 && gradient; ++c) gradient[c] = way[c] / out;
    return outside_value(g, square);
  }
  return interpolate(g, locate(g, p[0], p[1], p[2]), gradient);
}

// the same for four places at once; of two numbers the second where the first is none
RF_INLINE rf_v4 least(rf_v4 a, rf_v4 b) {
#ifdef __AVX__
  return __builtin_ia32_minpd256(a, b);
#else
  const rf_m4 first = (rf_m4)(a < b);
  return (rf_v4)((first & (rf_m4)a) | (~first & (rf_m4)b));
#endif
}
RF_INLINE rf_v4 most(rf_v4 a, rf_v4 b) {
#ifdef __AVX__
  return __builtin_ia32_maxpd256(a, b);
#else
  const rf_m4 first = (rf_m4)(a > b);
  return (rf_v4)((first & (rf_m4)a) | (~first & (rf_m4)b));
#endif
}

typedef int32_t rf_i4 __attribute__((vector_size(16)));

typedef struct block {
  int32_t at[BLOCK];
  double into[3][BLOCK];
  double square[BLOCK];  // squared distances to the box
} block;

static void find_four(const rf_grid *g, const double *p, int32_t i, block *b) {
  rf_v4 way[3];
  rf_i4 index = {0, 0, 0, 0};
  for (int c = 0; c < 3; ++c) {
    const rf_v4 q = {p[c], p[3 + c], p[6 + c], p[9 + c]};
    way[c] = q - least(rf_splat(g->corner[c]), most(rf_splat(g->origin[c]), q));
    rf_v4 t = (q - rf_splat(g->origin[c])) * rf_splat(g->inverse[c]);
    t = least(most(t, rf_splat(0.0)), rf_splat((double)(g->n[c] - 1)));
    const rf_i4 whole = __builtin_convertvector(t, rf_i4);
    // of the last sample the cell before
    const rf_i4 at = whole + (rf_i4)(whole > g->n[c] - 2);
    rf_store4(b->into[c] + i, t - __builtin_convertvector(at, rf_v4));
    index = index * g->n[c] + at;
  }
  rf_store4(b->square + i, way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
  memcpy(b->at + i, &index, sizeof index);
}

static void find_block(const rf_grid *g, int32_t n, const double *p, block *b) {
  const size_t row = (size_t)g->n[2], plane = (size_t)g->n[1] * row;
  double last[12];
  for (int32_t i = 0; i < n; i += 4) {
    const double *q = p + 3 * i;
    if (n - i < 4) {
      // the first of them stands for those that are none
      for (int32_t k = 0; k < 12; ++k) last[k] = k < 3 * (n - i) ? q[k] : q[k % 3];
      q = last;
    }
    find_four(g, q, i, b);
    for (int32_t k = i; k < i + 4; ++k) {
      const float *v = g->values + b->at[k];
      __builtin_prefetch(v);
      __builtin_prefetch(v + row);
      __builtin_prefetch(v + plane);
      __builtin_prefetch(v + plane + row);
    }
  }
}

static void use_block(const rf_grid *g, int32_t n, const block *b, double offset, bool least_of,
                      double *distance) {
  for (int32_t i = 0; i < n; ++i) {
    const cell at = {b->at[i], b->into[0][i], b->into[1][i], b->into[2][i]};
    const double d =
        (b->square[i] == 0.0 ? interpolate(g, at, NULL) : outside_value(g, b->square[i])) - offset;
    distance[i] = !least_of || d < distance[i] ? d : distance[i];
  }
}

static void grid_values(const rf_grid *g, int32_t n, const double *p, double offset, bool least_of,
                        double *distance) {
  block blocks[2];
  int32_t now = 0;
  find_block(g, n < BLOCK ? n : BLOCK, p, &blocks[now]);
  for (int32_t from = 0; from < n; from += BLOCK) {
    const int32_t next = from + BLOCK;
    if (next < n)
      find_block(g, n - next < BLOCK ? n - next : BLOCK, p + 3 * (size_t)next, &blocks[1 - now]);
    use_block(g, n - from < BLOCK ? n - from : BLOCK, &blocks[now], offset, least_of,
              distance + from);
    now = 1 - now;
  }
}

// ---- shapes -----------------------------------------------------------------------

// from a place on an axis or at a centre outwards: any way that is perpendicular to `axis`
static void some_normal(const double *axis, double *out) {
  int least = 0;
  for (int c = 1; c < 3; ++c)
    if (fabs(axis[c]) < fabs(axis[least])) least = c;
  double unit[3] = {0.0, 0.0, 0.0};
  unit[least] = 1.0;
  rf_vec3_cross(axis, unit, out);
  const double length = rf_vec3_length(out);
  for (int c = 0; c < 3; ++c) out[c] = length > 0.0 ? out[c] / length : unit[c];
}

static double ball_value(const double *p, const double *centre, const double *axis, double radius,
                         double *gradient) {
  double way[3];
  rf_vec3_sub(p, centre, way);
  const double length = rf_vec3_length(way);
  if (gradient && length == 0.0) some_normal(axis, gradient);
  for (int c = 0; c < 3 && gradient && length != 0.0; ++c) gradient[c] = way[c] / length;
  return length - radius;
}

static double capsule_value(const rf_field_part *s, const double *p, double *gradient) {
  double axis[3], way[3], foot[3];
  rf_vec3_sub(s->b, s->a, axis);
  rf_vec3_sub(p, s->a, way);
  const double square = rf_vec3_dot(axis, axis);
  double t = square > 0.0 ? rf_vec3_dot(way, axis) / square : 0.0;
  t = t > 0.0 ? (t < 1.0 ? t : 1.0) : 0.0;
  for (int c = 0; c < 3; ++c) foot[c] = s->a[c] + t * axis[c];
  return ball_value(p, foot, axis, s->radius, gradient);
}

static double box_value(const rf_field_part *s, const double *p, double *gradient) {
  double way[3];
  for (int c = 0; c < 3; ++c) way[c] = beyond(p[c], s->a[c], s->b[c]);
  const double square = rf_vec3_dot(way, way);
  if (!(square == 0.0)) {
    const double out = sqrt(square);
    for (int c = 0; c < 3 && gradient; ++c) gradient[c] = way[c] / out;
    return out;
  }
  // the nearest of the six faces
  double best = -INFINITY, sign = 1.0;
  int axis = 0;
  for (int c = 0; c < 3; ++c) {
    const double below = s->a[c] - p[c], above = p[c] - s->b[c];
    if (below > best) best = below, axis = c, sign = -1.0;
    if (above > best) best = above, axis = c, sign = 1.0;
  }
  for (int c = 0; c < 3 && gradient; ++c) gradient[c] = c == axis ? sign : 0.0;
  return best;
}

static double plane_value(const rf_field_part *s, const double *p, double *gradient) {
  double way[3];
  rf_vec3_sub(p, s->a, way);
  for (int c = 0; c < 3 && gradient; ++c) gradient[c] = s->b[c];
  return rf_vec3_dot(way, s->b);
}

static double part_value(const rf_field_part *s, const double *p, double *gradient) {
  static const double up[3] = {0.0, 0.0, 0.0};
  switch (s->shape) {
    case RF_SHAPE_GRID: return grid_value(s->grid, p, gradient) - s->offset;
    case RF_SHAPE_SPHERE: return ball_value(p, s->a, up, s->radius, gradient) - s->offset;
    case RF_SHAPE_BOX: return box_value(s, p, gradient) - s->offset;
    case RF_SHAPE_PLANE: return plane_value(s, p, gradient) - s->offset;
    default: return capsule_value(s, p, gradient) - s->offset;
  }
}

// ---- fields -----------------------------------------------------------------------

double RF_NAME(rf_field_distance)(const rf_field *f, const double p[3]) {
  double best = part_value(&f->parts[0], p, NULL);
  for (int32_t i = 1; i < f->n_parts; ++i) {
    const double d = part_value(&f->parts[i], p, NULL);
    if (d < best) best = d;
  }
  return best;
}

double RF_NAME(rf_field_gradient)(const rf_field *f, const double p[3], double gradient[3]) {
  double best = part_value(&f->parts[0], p, gradient);
  for (int32_t i = 1; i < f->n_parts; ++i) {
    double other[3];
    const double d = part_value(&f->parts[i], p, other);
    if (!(d < best)) continue;
    best = d;
    for (int c = 0; c < 3; ++c) gradient[c] = other[c];
  }
  return best;
}

void RF_NAME(rf_field_distances)(const rf_field *f, int32_t n, const double *points,
                                 double *distance) {
  for (int32_t k = 0; k < f->n_parts; ++k) {
    const rf_field_part *s = &f->parts[k];
    if (s->shape == RF_SHAPE_GRID) {
      grid_values(s->grid, n, points, s->offset, k > 0, distance);
      continue;
    }
    for (int32_t i = 0; i < n; ++i) {
      const double d = part_value(s, points + 3 * (size_t)i, NULL);
      distance[i] = k == 0 || d < distance[i] ? d : distance[i];
    }
  }
}

void RF_NAME(rf_field_prefetch)(const rf_field *f, const double p[3]) {
  for (int32_t i = 0; i < f->n_parts; ++i) {
    if (f->parts[i].shape != RF_SHAPE_GRID) continue;
    const rf_grid *g = f->parts[i].grid;
    const size_t row = (size_t)g->n[2], plane = (size_t)g->n[1] * row;
    const float *v = g->values + locate(g, p[0], p[1], p[2]).at;
    __builtin_prefetch(v);
    __builtin_prefetch(v + row);
    __builtin_prefetch(v + plane);
    __builtin_prefetch(v + plane + row);
  }
}
