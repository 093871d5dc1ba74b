// Systems of six equations that may be singular, in bounded time (B07 4.10).
#ifndef RF_LINALG_SOLVE6_RT_H
#define RF_LINALG_SOLVE6_RT_H

#include <stdint.h>

// Solves A x = b, A by rows, where it determines x: with A = U S V^T, singular values below
// `degenerate` (in (0, 1)) times the largest are dropped, and along their right singular vectors
// x is what `otherwise` is:
//     x = V_kept S_kept^-1 U_kept^T b + V_dropped V_dropped^T otherwise.
// Returns how many are kept, the rank; -1, and x as `otherwise`, where a number is not finite.
//
// None is dropped where every direction is known to resist, -x . A x >= sure |x|^2 for all x,
// however much more the largest does (INFINITY: this is never known), and roundings allow a
// solution: |A|_F |A^-1|_F <= 1e12.
//
// No singular value is below the threshold where |A|_F |A^-1|_F <= 1 / degenerate, which is known
// from an elimination alone, as a bound from below is from another one; the decomposition, which
// takes ten times as long, is made for other matrices only.
int32_t rf_solve6_rt(const double a[36], const double b[6], double degenerate, double sure,
                     const double otherwise[6], double x[6]);

#endif
