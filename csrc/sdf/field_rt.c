// Queries of distance fields, by the variant for this processor (four doubles a vector: wider ones
// have nothing to add).
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
// gradients up to M, and up to L in cells that have a value in [0, reach].  Let B be the smallest
// value on the sides, so that outside of the box, at a distance D, the field is D + B.
//
// Near.  Let a place y have g(y) < 0, and c inside g(c) = d > 0.  Going from y to c straight on,
// from the last place with g = 0 there is none lower, and until g reaches min(d, reach) each cell
// on the way has a value in [0, reach].  So |c - y| > min(d, reach) / L: where
//     min(d, reach) >= L R,                                                            (1)
// no y within R is inside.  This holds for every pair (reach, L).
//
// Far.  The interpolant at p is the mean of samples at random corners X of its cell, each
// coordinate by itself the upper one with the probability t, its place in the cell.  Let the same
// random numbers choose the corners X of c and Y of y: then a coordinate of X - Y has the mean
// c - y, and takes two neighbouring multiples of the spacing h, so that its variance is at most
// h^2 / 4.  Of a function with |u(p) - u(q)| <= |p - q|, up to errors E of samples,
//     g(c) - g(y) <= mean of |X - Y| + 2 E <= root of the mean of |X - Y|^2 + 2 E
//                 <= sqrt(|c - y|^2 + e^2) + 2 E,
// e half the diagonal of a cell.  So clear too is where
//     d >= sqrt(R^2 + e^2) + 2 E.                                                      (2)
//
// Outside.  Let c be outside, d = D + B.  Others outside have more than d - R.  If y is inside,
// the way to it enters the box at b, |c - b| >= D and g(b) >= B, and what was said holds for b and
// the rest of the way: R >= |c - b| + min(B, reach) / L >= min(d, reach) / L as L >= 1, or
// R >= |c - b| + (B - 2 E - e) >= d - 2 E - e.  So (1) is right, as is (2) for B in place of d, and
//     d >= R + e + 2 E                                                                 (3)
// for d.  (Where B < 0, the field outside is D less the offset, and min(B, ..) above may be
// negative: R >= D remains, d less the offset.)
//
// After c moved by s and R grew by t, the values that the tests find may be lower.  For (1),
// min(d, reach) by L s: on the way back from a lower one, up to the first place with the old one,
// all are below reach, and above zero if s < min(d, reach) / L as in (1).  For (2), by M s where
// the field is continuous, and by sqrt(s^2 + e^2) + 2 E <= s + e + 2 E as (2) itself.  Entering a
// box is covered, as B <= g(b).  Leaving it, a value may drop down to B: values above that, `cap`,
// count as no more, unless they are larger than any inside, `top`, so that c is outside, where (3)
// holds, and remains there until they are no longer.
//
// For a field of parts all of this holds with the worst of the parts, as none is below the field.
// Shapes with a formula have L = 1, e = E = 0.
//
// Groups.  A group is inside only where all its parts are, and its value is that of one of them.
// So of each group there is a part that has at c a value of d or more; where this is not inside
// within R the group is not, and where it has so much left after a move the group has no less.  The
// tests do not fall as d rises: right for every part and d, they are right for groups, and for the
// smallest of these.
//
// Outside of a grid.  The value of such a part is -g less the offset in the box, with the same
// gradients and e, and -(D + max(B, 0)) less the offset outside of it.  As a rule the latter is
// never positive: then c is in the box, and on the way out of it the value is not positive at the
// side either, as g(b) >= B.  So the ball, or the move, meets a place without a positive value
// before it leaves the box, which (1), (2) and what was said of moves rule out.  Else, where the
// box cuts the object, or the offset makes what is outside so small that the box has some of it
// without, a value may drop at the side down to the least that the part has in the box or at its
// side, `cap`.  And no value of the part is above `top`.

// in place of fmin and fmax, which are calls; of what is no number, larger takes b
static double smaller(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

// need_far: what d is to exceed by (2) or (3)
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
  // also what is no number
  if (!(d > R && R >= 0.0)) return d - R < 0.0 ? d - R : 0.0;
  // of this value, and of the one after a move, which is tested likewise
  const double safe = d - 2.0 * (f->rounding + 1e-14 * (d + R));
  const double error = 2.0 * f->error;
  const double capped =
      left_over(f, smaller(safe, f->cap), R, sqrt(R * R + f->bend * f->bend) + error);
  if (!(safe > f->top)) return capped;
  const double outside = left_over(f, safe - f->shrink, R, R + f->bend + error);
  return larger(capped, smaller(outside, (safe - f->top) * f->gentle));
}
