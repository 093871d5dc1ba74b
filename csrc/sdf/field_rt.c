// Queries of distance fields, by the variant for this processor (four doubles per vector: wider
// vectors bring no gain).
#include <math.h>

#include "linalg/simd.h"
#include "sdf/field_kernels.h"

#if RF_SIMD_X86
#define CALL(f, field, ...)                                        \
  ((field)->simd >= RF_SIMD_AVX2 ? f##_avx2_rt(field, __VA_ARGS__) \
                                 : f##_plain_rt(field, __VA_ARGS__))
#else
#define CALL(f, field, ...) f##_plain_rt(field, __VA_ARGS__)
#endif

double rf_field_distance_rt(const rf_field *f, const double p[3]) {
  return CALL(rf_field_distance, f, p);
}

double rf_field_gradient_rt(const rf_field *f, const double p[3], double gradient[3]) {
  return CALL(rf_field_gradient, f, p, gradient);
}

void rf_field_distances_rt(const rf_field *f, int32_t n, const double *points, double *distance) {
  CALL(rf_field_distances, f, n, points, distance);
}

void rf_field_gradients_rt(const rf_field *f, int32_t n, const double *points, double *distance,
                           double *gradient) {
  CALL(rf_field_gradients, f, n, points, distance, gradient);
}

void rf_field_slopes_rt(const rf_field *f, int32_t n, const double *points, double *distance,
                        double *slope) {
  CALL(rf_field_slopes, f, n, points, distance, slope);
}

void rf_field_prefetch_rt(const rf_field *f, const double p[3]) { CALL(rf_field_prefetch, f, p); }

// ---- culling ----------------------------------------------------------------------
//
// Let g be the value of a grid inside its box, less the offset: a continuous function with
// gradients up to M, and up to L in cells that have a value in [0, reach]. Let B be the smallest
// value on the sides, so that outside of the box, at distance D from it, the field is D + B.
//
// Near.  Let a point y have g(y) < 0, and a point c inside the box g(c) = d > 0.  On the straight
// line from y to c, after the last point with g = 0 all values are positive, and until g reaches
// min(d, reach) each cell on the line has a value in [0, reach].  So |c - y| > min(d, reach) / L:
// if
//     min(d, reach) >= L R,                                                            (1)
// no y within R has a negative value.  This holds for every pair (reach, L).
//
// Far.  The interpolant at p is the mean of samples at random corners X of its cell, where each
// coordinate independently is the upper one with probability t, its position in the cell.  Let the
// same random numbers choose the corners X of c and Y of y: then a coordinate of X - Y has the mean
// c - y and takes two neighbouring multiples of the spacing h, so that its variance is at most
// h^2 / 4.  For a function with |u(p) - u(q)| <= |p - q|, up to errors E of samples,
//     g(c) - g(y) <= mean of |X - Y| + 2 E <= root of the mean of |X - Y|^2 + 2 E
//                 <= sqrt(|c - y|^2 + e^2) + 2 E,
// e half the diagonal of a cell.  So no y within R has a negative value if
//     d >= sqrt(R^2 + e^2) + 2 E.                                                      (2)
//
// Outside.  Let c be outside, d = D + B.  Other points outside have more than d - R.  If y is
// inside, the line to it enters the box at b, |c - b| >= D and g(b) >= B, and the above holds for b
// and the rest of the line: R >= |c - b| + min(B, reach) / L >= min(d, reach) / L as L >= 1, or
// R >= |c - b| + (B - 2 E - e) >= d - 2 E - e.  So (1) holds, as does (2) for B in place of d, and
//     d >= R + e + 2 E                                                                 (3)
// for d.  (If B < 0, the field outside is D less the offset, and min(B, ..) above may be negative:
// R >= D remains, d less the offset.)
//
// After c moved by s and R grew by t, the values that the tests find may be lower.  For (1), by
// L s for min(d, reach): on the way back from a lower value, up to the first point with the old
// one, all values are below reach, and above zero if s < min(d, reach) / L as in (1).  For (2), by
// M s where the field is continuous, and by sqrt(s^2 + e^2) + 2 E <= s + e + 2 E as in (2) itself.
// Entering a box is covered, as B <= g(b).  Leaving it, a value may drop to B: values above that
// bound, `cap`, count as `cap`, unless they exceed all values inside, `top`.  Then c is outside,
// where (3) holds, and stays there until its value falls to `top`.
//
// For a field of parts all of this holds with the worst constants of the parts, as no part is below
// the field.  Shapes with a formula have L = 1, e = E = 0.
//
// Groups.  A point is inside a group only if it is inside all its parts, and the group's value is
// that of one of them.  So each group has a part with a value of d or more at c.  If this part has
// no negative value within R, neither has the group, and if its value stays this high after a move,
// so does the group's.  The tests are monotonic in d: valid for each such part and d, they are
// valid for groups, and for the smallest of these.
//
// Complement of a grid.  The value of such a part is -g less the offset in the box, with the same
// gradients and e, and -(D + max(B, 0)) less the offset outside of it.  Usually the latter is never
// positive: then c is in the box, and on the way out of it the value at the side is not positive
// either, as g(b) >= B. So the ball, or the move, meets a point without a positive value before it
// leaves the box, which (1), (2) and the bounds for moves exclude.  Otherwise, if the box cuts the
// object, or the offset shrinks the complement so much that a part of the box lies outside of it, a
// value may drop at the side to the lowest value of the part in the box or at its side, `cap`. No
// value of the part is above `top`.

// Replace fmin and fmax, which are calls; for NaN, larger returns b.
static double smaller(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

// need_far: value that d must exceed by (2) or (3).
static double left_over(const rf_field *f, double d, double R, double need_far) {
  const double far = d - need_far;
  double best = larger(far * f->gentle, far - f->bend - 2.0 * f->error);
  for (int b = 0; b < RF_FIELD_BANDS; ++b) {
    const double need = f->gradient[b] * R;
    best = larger((smaller(d, f->reach[b]) - need) * f->inverse[b], best);
  }
  return best;
}

double rf_field_slack_rt(const rf_field *f, double d, double R) {
  // also for NaN
  if (!(d > R && R >= 0.0)) return d - R < 0.0 ? d - R : 0.0;
  // rounding errors of this value, and of the one tested after a move
  const double safe = d - 2.0 * (f->rounding + 1e-14 * (d + R));
  const double error = 2.0 * f->error;
  const double capped =
      left_over(f, smaller(safe, f->cap), R, sqrt(R * R + f->bend * f->bend) + error);
  if (!(safe > f->top)) return capped;
  const double outside = left_over(f, safe - f->shrink, R, R + f->bend + error);
  return larger(capped, smaller(outside, (safe - f->top) * f->gentle));
}
