// Newton's iterations for one implicit stage, for all systems and schemes.  With velocity and
// acceleration as the scheme has them at x,
//   residual = M (acc + alpha v) + (beta K + D) v + R(x) - f + A (x - q)
//   (c_a M + c_v C + K + A) dx = -residual,   x += dx,   C = alpha M + beta K + D
// until |residual| <= tolerance * max(|first residual|, |R|, |f|), or newton_max solves.  The
// derivative of C(x) v by x is left out, as in B07.  Where the matrix is not positive definite, the
// factor of M in it grows until it is.
//
// Each increment is guarded.  Along it the residual of a St.Venant-Kirchhoff solid is cubic, and so
// is its product with dx, the slope of the energy of the step.  If the slope at the end is larger
// than minus the slope at the beginning, the tangent at x says little about what is ahead (a light
// body under a sudden force), and the increment ends at the zero of the cubic instead, found from
// four values.
#ifndef RF_DYNAMICS_NEWTON_H
#define RF_DYNAMICS_NEWTON_H

#include <stdbool.h>

#include "dynamics/motion.h"

enum { RF_NEWTON_SHIFTS = 30 };  // factors of M tried, each 4 times the one before

// Evaluates rates, forces and the residual at m->x; size: its norm.
RF_MUST_CHECK rf_status rf_newton_look_rt(rf_motion *m, double *size);
// Factor of the matrix of the stage, not shifted.
RF_MUST_CHECK rf_status rf_newton_factorize_rt(rf_motion *m);
// From m->x to the end of the stage, and the report of the step.  A linearized stage has its first
// residual, `size` in norm, and factor already.
RF_MUST_CHECK rf_status rf_newton_solve_rt(rf_motion *m, bool linearized, double size);

#endif
