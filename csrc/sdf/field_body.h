// Body of the variants of field_rt.c.  Needs RF_WIDTH 4 and RF_NAME (linalg/simd.h).
//
// Contraction of products and sums is off, so all variants give the same bits.
#if defined(__clang__)
#pragma clang fp contract(off)
#else
#pragma GCC optimize("fp-contract=off")
#endif
#include "sdf/field_kernels.h"
#include "sdf/grid_body.h"
#define RF_SHAPE_FUNCTIONS
#include "sdf/shape_list_body.h"

enum { BLOCK = 64 };  // points per block of grouped fields

static double part_value(const rf_field_part *s, const double *p, double *gradient) {
  switch (s->shape) {
#define VALUE(NAME, name) \
  case RF_SHAPE_##NAME: return rf_field_##name##_value(s, p, gradient) - s->offset;
    RF_SHAPES(VALUE)
#undef VALUE
    default: return grid_value(s->grid, p, gradient) - s->offset;
  }
}

// ---- groups -----------------------------------------------------------------------

// Returns a part's value, negated for a complement.
static double side_value(const rf_field_part *s, const double *p, double *gradient) {
  rf_field_part part = *s;
  part.offset = 0.0;
  const double d = part_value(&part, p, gradient);
  if (!s->outside) return d - s->offset;
  for (int c = 0; c < 3 && gradient; ++c) gradient[c] = -gradient[c];
  return -d - s->offset;
}

// Returns the field's value if there are intersections.
APART double grouped_value(const rf_field *f, const double *p, double *gradient) {
  double best = INFINITY;
  for (int32_t k = 0; k < f->n_parts;) {
    double slope[3], largest = side_value(&f->parts[k], p, gradient ? slope : NULL);
    const bool first = k == 0;
    for (++k; k < f->n_parts && f->parts[k].joined; ++k) {
      double other[3];
      const double d = side_value(&f->parts[k], p, gradient ? other : NULL);
      if (!(d > largest)) continue;
      largest = d;
      if (gradient) memcpy(slope, other, sizeof slope);
    }
    if (!first && !(largest < best)) continue;
    best = largest;
    if (gradient) memcpy(gradient, slope, sizeof slope);
  }
  return best;
}

// The same for n points, at most BLOCK; gradient is nullable, `central` as in grid_values.
static void grouped_block(const rf_field *f, int32_t n, const double *points, bool central,
                          double *distance, double *gradient) {
  double part[BLOCK], part_slope[3 * BLOCK], group[BLOCK], group_slope[3 * BLOCK];
  bool first = true;  // first group
  for (int32_t k = 0; k < f->n_parts; ++k) {
    const rf_field_part *s = &f->parts[k];
    const bool last = k + 1 == f->n_parts || !f->parts[k + 1].joined;
    double *slope = gradient ? &part_slope[0] : NULL;
    if (s->shape == RF_SHAPE_GRID)
      grid_values(s->grid, n, points, s->outside ? 0.0 : s->offset, false, central, part, slope);
    for (int32_t i = 0; i < n; ++i) {
      const size_t at = 3 * (size_t)i;
      if (s->shape != RF_SHAPE_GRID) {
        part[i] = side_value(s, points + at, slope ? slope + at : NULL);
      } else if (s->outside) {
        part[i] = -part[i] - s->offset;
        for (int c = 0; c < 3 && slope; ++c) slope[at + (size_t)c] = -slope[at + (size_t)c];
      }
      if (!s->joined || part[i] > group[i]) {
        group[i] = part[i];
        if (slope) memcpy(group_slope + at, slope + at, 3 * sizeof *slope);
      }
      if (last && (first || group[i] < distance[i])) {
        distance[i] = group[i];
        if (slope) memcpy(gradient + at, group_slope + at, 3 * sizeof *slope);
      }
    }
    first = first && !last;
  }
}

APART void grouped_values(const rf_field *f, int32_t n, const double *points, bool central,
                          double *distance, double *gradient) {
  for (int32_t i = 0; i < n; i += BLOCK) {
    const size_t at = 3 * (size_t)i;
    grouped_block(f, n - i < BLOCK ? n - i : BLOCK, points + at, central, distance + i,
                  gradient ? gradient + at : NULL);
  }
}

// ---- fields -----------------------------------------------------------------------

// True for the most frequent query: inside the box of a field of one grid.
RF_INLINE bool lone_inside(const rf_field *f, rf_v4 q) {
  return f->plain && f->n_parts == 1 && f->parts[0].shape == RF_SHAPE_GRID &&
         inside(f->parts[0].grid, q);
}

RF_INLINE double lone_value(const rf_field *f, rf_v4 q, double *gradient) {
  const rf_grid *g = f->parts[0].grid;
  return interpolate(g, locate_inside(g, q), gradient) - f->parts[0].offset;
}

APART double value_of(const rf_field *f, const double *p) {
  if (!f->plain) return grouped_value(f, p, NULL);
  double best = part_value(&f->parts[0], p, NULL);
  for (int32_t i = 1; i < f->n_parts; ++i) {
    const double d = part_value(&f->parts[i], p, NULL);
    if (d < best) best = d;
  }
  return best;
}

double RF_NAME(rf_field_distance)(const rf_field *f, const double p[3]) {
  const rf_v4 q = lanes_of(p);
  return lone_inside(f, q) ? lone_value(f, q, NULL) : value_of(f, p);
}

APART double slope_of(const rf_field *f, const double *p, double *gradient) {
  if (!f->plain) return grouped_value(f, p, gradient);
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

double RF_NAME(rf_field_gradient)(const rf_field *f, const double p[3], double gradient[3]) {
  const rf_v4 q = lanes_of(p);
  return lone_inside(f, q) ? lone_value(f, q, gradient) : slope_of(f, p, gradient);
}

void RF_NAME(rf_field_distances)(const rf_field *f, int32_t n, const double *points,
                                 double *distance) {
  if (!f->plain) {
    grouped_values(f, n, points, false, distance, NULL);
    return;
  }
  for (int32_t k = 0; k < f->n_parts; ++k) {
    const rf_field_part *s = &f->parts[k];
    if (s->shape == RF_SHAPE_GRID) {
      grid_values(s->grid, n, points, s->offset, k > 0, false, distance, NULL);
      continue;
    }
    for (int32_t i = 0; i < n; ++i) {
      const double d = part_value(s, points + 3 * (size_t)i, NULL);
      distance[i] = k == 0 || d < distance[i] ? d : distance[i];
    }
  }
}

RF_INLINE void gradients(const rf_field *f, int32_t n, const double *points, bool central,
                         double *distance, double *gradient) {
  if (!f->plain) {
    grouped_values(f, n, points, central, distance, gradient);
    return;
  }
  for (int32_t k = 0; k < f->n_parts; ++k) {
    const rf_field_part *s = &f->parts[k];
    if (s->shape == RF_SHAPE_GRID) {
      grid_values(s->grid, n, points, s->offset, k > 0, central, distance, gradient);
      continue;
    }
    for (int32_t i = 0; i < n; ++i) {
      double slope[3];
      const double d = part_value(s, points + 3 * (size_t)i, slope);
      if (k > 0 && !(d < distance[i])) continue;
      distance[i] = d;
      memcpy(gradient + 3 * (size_t)i, slope, sizeof slope);
    }
  }
}

void RF_NAME(rf_field_gradients)(const rf_field *f, int32_t n, const double *points,
                                 double *distance, double *gradient) {
  gradients(f, n, points, false, distance, gradient);
}

void RF_NAME(rf_field_slopes)(const rf_field *f, int32_t n, const double *points, double *distance,
                              double *slope) {
  gradients(f, n, points, true, distance, slope);
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
