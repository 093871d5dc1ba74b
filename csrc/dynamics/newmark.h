// Implicit Newmark (B07 2.9).  With a1 = 1/(b h^2), a2 = 1/(b h), a3 = (1-2b)/(2b), a4 = g/(b h),
// a5 = 1 - g/b, a6 = (1 - g/(2b)) h  a step solves one stage (newton.h) from x = x_i for
//   acc = a1 (x - x_i) - a2 v_i - a3 acc_i,   v = a4 (x - x_i) + a5 v_i + a6 acc_i
//
// A step with an added stiffness A that is not zero has g = 0.6, if that of the scheme is less, and
// then b of (g + 1/2)^2 / 4 at least.  Average acceleration (g = 1/2) does not damp motion that
// alternates from step to step, and contact that opens and closes excites it: bodies whose modes
// are stiff for the step would never rest.  With 0.6 such motion loses a fifth in each step, and a
// mode of angular frequency w gains 0.05 w h of critical damping.
#ifndef RF_DYNAMICS_NEWMARK_H
#define RF_DYNAMICS_NEWMARK_H

#include "dynamics/motion.h"

typedef struct rf_newmark_coefficients {
  double a1, a2, a3, a4, a5, a6;
} rf_newmark_coefficients;

typedef struct rf_newmark_plan {
  rf_newmark_coefficients plain, added;  // of steps without and with an A
  const rf_newmark_coefficients *now;    // of the step being computed: one of these
} rf_newmark_plan;

extern const rf_scheme_operations rf_newmark_rt;

#endif
