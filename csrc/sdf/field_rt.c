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

// in place of fmin and fmax, which are calls; of what is no number, larger takes b
static double smaller(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

static double left_over(const rf_field *f, double d, double R) {
  const double far = d - R - 2.0 * f->error;
  const double gentle = f->gentle;
  double best = larger(far * gentle, far - 2.0 * f->error);
  for (int b = 0; b < RF_FIELD_BANDS; ++b) {
    const double need = f->gradient[b] * R;
    best = larger(smaller((d - need) * gentle, (f->reach[b] - need) * f->inverse[b]), best);
  }
  return best;
}

double rf_field_slack_rt(const rf_field *f, double d, double R) {
  // also what is no number
  if (!(d > R && R >= 0.0)) return d - R < 0.0 ? d - R : 0.0;
  // of this value, and of the one after a move, which is tested likewise
  const double safe = d - 2.0 * (f->rounding + 1e-14 * (d + R));
  const double capped = left_over(f, smaller(safe, f->cap), R);
  if (!(safe > f->top)) return capped;
  return larger(capped, smaller(left_over(f, safe - f->shrink, R), (safe - f->top) * f->gentle));
}
