// Possibly singular systems of six equations, in bounded time (B07 4.10).
#ifndef RF_LINALG_SOLVE6_RT_H
#define RF_LINALG_SOLVE6_RT_H

#include <stdint.h>

// Solves A x = b, A row-major.  With A = U S V^T, singular values below `degenerate` (in (0, 1))
// times the largest are dropped; x takes its components along their right singular vectors from
// `otherwise`:
//     x = V_kept S_kept^-1 U_kept^T b + V_dropped V_dropped^T otherwise.
// Returns the rank, the number of values kept; -1, with x = otherwise, if a number is not finite.
//
// All values are kept if every direction is known to resist, -x . A x >= sure |x|^2 for all x, even
// if the largest resists far more (INFINITY disables this test), and rounding permits a solution:
// |A|_F |A^-1|_F <= 1e12.
//
// If |A|_F |A^-1|_F <= 1 / degenerate, no singular value is below the threshold; an inverse by
// elimination shows this, and another elimination gives the lower bound above.  Other matrices need
// the decomposition, which takes ten times as long.
int32_t rf_solve6_rt(const double a[36], const double b[6], double degenerate, double sure,
                     const double otherwise[6], double x[6]);

#endif
