// Queries of distance fields.
#include <math.h>
#include <stddef.h>

#include "linalg/vec3.h"
#include "sdf/field.h"

// ---- grids ------------------------------------------------------------------------

// where a place is among the samples: the corner of its cell, and how far into it
typedef struct cell {
  const float *row[2][2];  // along z, from the corner on
  double x, y, z;
} cell;

static cell locate(const rf_grid *g, const double p[3]) {
  int32_t at[3];
  double into[3];
  for (int c = 0; c < 3; ++c) {
    const double last = (double)(g->n[c] - 1);
    double t = (p[c] - g->origin[c]) * g->inverse[c];
    t = t > 0.0 ? (t < last ? t : last) : 0.0;
    at[c] = (int32_t)t < g->n[c] - 2 ? (int32_t)t : g->n[c] - 2;
    into[c] = t - (double)at[c];
  }
  const size_t ny = (size_t)g->n[1], nz = (size_t)g->n[2];
  const float *v = g->values + ((size_t)at[0] * ny + (size_t)at[1]) * nz + (size_t)at[2];
  return (cell){{{v, v + nz}, {v + ny * nz, v + (ny + 1) * nz}}, into[0], into[1], into[2]};
}

// squared distance to the box and the way from there; 0 inside
static double to_box(const double *low, const double *high, const double *p, double *way) {
  double sum = 0.0;
  for (int c = 0; c < 3; ++c) {
    way[c] = p[c] - (p[c] < low[c] ? low[c] : p[c] > high[c] ? high[c] : p[c]);
    sum += way[c] * way[c];
  }
  return sum;
}

static double mix(double t, double a, double b) { return a + t * (b - a); }

// gradient is nullable
static double grid_value(const rf_grid *g, const double p[3], double *gradient) {
  double way[3];
  const double square = to_box(g->origin, g->corner, p, way);
  if (!(square == 0.0)) {
    const double out = sqrt(square);
    for (int c = 0; c < 3 && gradient; ++c) gradient[c] = way[c] / out;
    return out + (g->boundary > 0.0 ? g->boundary : 0.0);
  }
  const cell at = locate(g, p);
  double low[2][2], step[2][2];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const float *v = at.row[i][j];
      step[i][j] = (double)v[1] - (double)v[0];
      low[i][j] = (double)v[0] + at.z * step[i][j];
    }
  const double a = mix(at.y, low[0][0], low[0][1]), b = mix(at.y, low[1][0], low[1][1]);
  if (gradient) {
    gradient[0] = (b - a) * g->inverse[0];
    gradient[1] = mix(at.x, low[0][1] - low[0][0], low[1][1] - low[1][0]) * g->inverse[1];
    gradient[2] = mix(at.x, mix(at.y, step[0][0], step[0][1]), mix(at.y, step[1][0], step[1][1])) *
                  g->inverse[2];
  }
  return mix(at.x, a, b);
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
  const double square = to_box(s->a, s->b, p, way);
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

double rf_field_distance_rt(const rf_field *f, const double p[3]) {
  double best = part_value(&f->parts[0], p, NULL);
  for (int32_t i = 1; i < f->n_parts; ++i) {
    const double d = part_value(&f->parts[i], p, NULL);
    if (d < best) best = d;
  }
  return best;
}

double rf_field_gradient_rt(const rf_field *f, const double p[3], double gradient[3]) {
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

void rf_field_distances_rt(const rf_field *f, int32_t n, const double *points, double *distance) {
  for (int32_t i = 0; i < n; ++i) distance[i] = rf_field_distance_rt(f, points + 3 * (size_t)i);
}

void rf_field_prefetch_rt(const rf_field *f, const double p[3]) {
  for (int32_t i = 0; i < f->n_parts; ++i) {
    if (f->parts[i].shape != RF_SHAPE_GRID) continue;
    const cell at = locate(f->parts[i].grid, p);
    for (int k = 0; k < 4; ++k) __builtin_prefetch(at.row[k >> 1][k & 1]);
  }
}

// ---- culling ----------------------------------------------------------------------
//
// Let g be the value of a grid inside its box, less the offset: a continuous function with
// gradients up to M, and up to L in cells that have a value in [0, reach].  Let B be the smallest
// value on the sides, so that outside of the box, at a distance D, the field is D + B.
//
// Near.  Let a place y have g(y) < 0, and c inside g(c) = d > 0.  Going from y to c straight on,
// from the last place with g = 0 there is none lower, and until g reaches min(d, reach) each cell
// on the way has a value in [0, reach].  So |c - y| > min(d, reach) / L: where
//     min(d, reach) >= L R,                                                            (1)
// no y within R is inside.  This holds for every pair (reach, L).
//
// Far.  Samples of a function u with |u(p) - u(q)| <= |p - q| give an interpolant, a mean of
// samples with weights w, that differs from u at p by less than
//     sum w_i |p - p_i| <= sqrt(sum w_i |p - p_i|^2) = sqrt(sum over axes h^2 t (1 - t)) <= e,
// e half the diagonal of a cell.  So g(y) < 0 implies d < 2 e + |c - y|: clear too where
//     d >= R + 2 e.                                                                    (2)
//
// Outside.  Let c be outside, d = D + B.  Others outside have more than d - R.  If y is inside,
// the way to it enters the box at b, |c - b| >= D and g(b) >= B, and what was said holds for b and
// the rest of the way: R >= |c - b| + min(B, reach) / L >= min(d, reach) / L as L >= 1, or
// R >= |c - b| + B - 2 e >= d - 2 e.  The same tests are right.  (Where B < 0, the field outside
// is D less the offset, and min(B, ..) above may be negative: R >= D remains, d less the offset.)
//
// After c moved by s and R grew by t, the values that the tests find may be lower: by M s where
// the field is continuous, and by 2 e + s by (2), on account of u.  This divides what the tests
// leave.  Entering a box is covered, as B <= g(b).  Leaving it, a value may drop down to B: values
// above that, `cap`, count as no more, unless they are larger than any inside, `top`, so that c is
// outside and remains there until they are no longer.
//
// For a field of parts all of this holds with the worst of the parts, as none is below the field.
// Shapes with a formula have L = 1, e = 0.

static double left_over(const rf_field *f, double d, double R) {
  const double far = d - R - 2.0 * f->error;
  double best = fmax(far / f->lipschitz, far - 2.0 * f->error);
  for (int b = 0; b < RF_FIELD_BANDS; ++b) {
    const double need = f->gradient[b] * R;
    const double near = fmin((d - need) / f->lipschitz, (f->reach[b] - need) / f->gradient[b]);
    best = fmax(best, near);
  }
  return best;
}

double rf_field_slack_rt(const rf_field *f, double d, double R) {
  // also what is no number
  if (!(d > R && R >= 0.0)) return d - R < 0.0 ? d - R : 0.0;
  const double safe = d - (f->rounding + 1e-14 * (d + R));
  const double capped = left_over(f, fmin(safe, f->cap), R);
  if (!(safe > f->top)) return capped;
  return fmax(capped, fmin(left_over(f, safe - f->shrink, R), (safe - f->top) / f->lipschitz));
}
