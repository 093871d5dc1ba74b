// Explicit central differences, the Newmark scheme with beta = 0 and gamma = 1/2 (B07 2.9.1): no
// matrix is factored in a step.
//
//   x' = x + h v + h^2/2 a,   w = v + h/2 a                         (velocity in the middle)
//   M a' = f - R(x') - alpha M v' - (beta K(x') + D(x')) w,   v' = w + h/2 a'
//
// Mass damping is taken at the end of the step, which costs nothing; stiffness and strain-rate
// damping at its middle, for a matrix would have to be factored otherwise.  Undamped and with mass
// damping alone the scheme is of second order.  The stable step: spectrum.h.
#ifndef RF_DYNAMICS_CENTRAL_H
#define RF_DYNAMICS_CENTRAL_H

#include "dynamics/motion.h"

extern const rf_scheme_operations rf_central_rt;

#endif
