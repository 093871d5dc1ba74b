// Newton's iterations, for the stages of implicit schemes (stage_rt.c) and for statics
// (equilibrium.c): until the residual is small enough, factor the tangent and move x along the
// solution.
//
// A stage of a step, with velocity and acceleration as the scheme has them at x (scheme.h has the
// terms of generalized-alpha and of first stages):
//   residual = M (acc + alpha v) + (beta K + D) v + R(x) - f + A (x - q)
//   (c_a M + c_v C + K + A) dx = -residual,   x += dx,   C = alpha M + beta K + D
// until |residual| <= tolerance * max(|first residual|, |R|, |f|), or newton_max solves.  The
// derivative of C(x) v by x is left out, as in B07.  Where the matrix is not positive definite, it
// takes more of M, or the semidefinite tangent of each point of the law.
//
// Each increment is guarded.  Along it the residual is cubic where the law is quadratic in Green's
// strain, and so is its product with dx, the slope of the energy of the step.  If the slope at the
// end is larger than minus the slope at the beginning, the tangent at x says little about what is
// ahead (a light body under a sudden force), and the increment ends at the zero of the cubic
// instead, found from four values.  For other laws the increment is shortened until the energy of
// the step falls by a part of what the slope at the beginning promises (Armijo).  Its change is
// that of W plus the work of all other forces, by the trapezoidal rule: exact for damping that is
// constant.  Of a force without a known W all the work is found by that rule.
#ifndef RF_DYNAMICS_NEWTON_H
#define RF_DYNAMICS_NEWTON_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { RF_NEWTON_HISTORY = 32 };  // residuals that are kept

// One solution under way.
typedef struct rf_newton {
  double tolerance;  // of the residual, relative to the scale
  int32_t most;      // iterations
  bool kept;         // the factor there is serves for the next increment
  double size;       // of the residual at x
  bool constrained;  // there is a change of x besides the residual, for which a solve is needed
  double scale, rounding;
  int32_t iterations;  // made
  bool converged;
  double residual;  // relative, of the last evaluation
  double history[RF_NEWTON_HISTORY];
} rf_newton;

typedef struct rf_newton_operations {
  // Sets size, scale and rounding, the error of the residual itself, at x.
  rf_status (*evaluate)(void *self, rf_newton *n);
  // Factor of the tangent at x, shifted if necessary.
  rf_status (*factorize)(void *self);
  // Moves x along the solution and decides n->kept.  May set n->converged: x is the solution.
  rf_status (*advance)(void *self, rf_newton *n);
} rf_newton_operations;

#define RF_NEWTON_ARMIJO 1e-4  // part of the predicted change that is required

// Returns the part of an increment to try after `part`, which changed the energy by `change` where
// the slope at the beginning promised `promised` < 0: the minimum of the parabola through both, but
// a tenth to a half of it, as parabolas through noise mean little.
static inline double rf_newton_shorten_rt(double part, double promised, double change) {
  const double best = 0.5 * part * promised / (promised - change);
  return isfinite(best) ? fmin(fmax(best, 0.1 * part), 0.5 * part) : 0.1 * part;
}

// RF_ERR_DIVERGED: the residual is not finite.  Inline: calls through a constant become direct.
RF_MUST_CHECK static inline rf_status rf_newton_solve_rt(const rf_newton_operations *op, void *self,
                                                         rf_newton *n) {
  n->converged = false;
  for (n->iterations = 0;; ++n->iterations) {
    rf_status st = op->evaluate(self, n);
    if (st < 0) return st;
    if (!isfinite(n->size)) return RF_ERR_DIVERGED;
    const bool last = n->iterations == n->most;
    n->residual = n->scale > 0.0 ? n->size / n->scale : n->size;
    if (n->iterations < RF_NEWTON_HISTORY) n->history[n->iterations] = n->residual;
    n->converged =
        !n->constrained && (n->size <= n->tolerance * n->scale || n->size <= n->rounding);
    if (n->converged || last) return RF_OK;
    if (!n->kept) st = op->factorize(self);
    if (st >= 0) st = op->advance(self, n);
    if (st < 0 || n->converged) return st;
  }
}

// Factor with the first of the multiples shift, growth shift, ... of the mass, below `end`, that
// makes the matrix positive definite; RF_ERR_SINGULAR if none does.
RF_MUST_CHECK static inline rf_status rf_newton_shift_rt(rf_status (*factorize)(void *, double),
                                                         void *self, double shift, double growth,
                                                         double end) {
  rf_status st = RF_ERR_SINGULAR;
  for (; st == RF_ERR_SINGULAR && shift < end; shift *= growth) st = factorize(self, shift);
  return st;
}

#endif
