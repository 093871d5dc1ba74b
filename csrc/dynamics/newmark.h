// Implicit Newmark (B07 2.9).  With b = beta and g = gamma the stage (newton.h) of a step from
// (q, v, a) to x has
//   acc = (x - q) / (b h^2) - v / (b h) - a (1 - 2b) / (2b)
//   vel = (x - q) g / (b h) + v (1 - g/b) + a (1 - g/(2b)) h
//
// A step with an added stiffness A that is not zero has g = 0.6, if that of the scheme is less, and
// then b of (g + 1/2)^2 / 4 at least.  Average acceleration (g = 1/2) does not damp motion that
// alternates from step to step, and contact that opens and closes excites it: bodies whose modes
// are stiff for the step would never rest.  With 0.6 such motion loses a fifth in each step, and a
// mode of angular frequency w gains 0.05 w h of critical damping.
#ifndef RF_DYNAMICS_NEWMARK_H
#define RF_DYNAMICS_NEWMARK_H

#include <string.h>

#include "dynamics/scheme.h"

typedef struct rf_newmark_settings {
  double beta, gamma;  // 0 < beta <= 1, 0 <= gamma <= 1
} rf_newmark_settings;

// Sets the rates of a stage.
static inline void rf_scheme_newmark_rates(double b, double g, double h, rf_stage *out) {
  const double velocity[] = {g / (b * h), 1.0 - g / b, (1.0 - g / (2.0 * b)) * h};
  const double acceleration[] = {1.0 / (b * h * h), -1.0 / (b * h), -(1.0 - 2.0 * b) / (2.0 * b)};
  memcpy(out->velocity, velocity, sizeof velocity);
  memcpy(out->acceleration, acceleration, sizeof acceleration);
}

#endif
