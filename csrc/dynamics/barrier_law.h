// Laws of contact by a barrier (barrier.h): energy of a distance, friction of a velocity.
#ifndef RF_DYNAMICS_BARRIER_LAW_H
#define RF_DYNAMICS_BARRIER_LAW_H

#include <math.h>

// Energy b over kappa, and its first two derivatives, at 0 < d < delta.
typedef struct rf_barrier_law {
  double energy, first, second;
} rf_barrier_law;

static inline rf_barrier_law rf_barrier_law_rt(double d, double delta) {
  const double logarithm = log(d / delta), below = d - delta, ratio = below / d;
  return (rf_barrier_law){.energy = -below * below * logarithm,
                          .first = -2.0 * below * logarithm - below * ratio,
                          .second = -2.0 * logarithm - 4.0 * ratio + ratio * ratio};
}

// s(x) / x, its integral S and the factor of vbar vbar^T in the derivative of s(x) / x vbar.
typedef struct rf_barrier_slip {
  double over, integral, outer;
} rf_barrier_slip;

static inline rf_barrier_slip rf_barrier_slip_rt(double x, double slip) {
  if (x >= slip) return (rf_barrier_slip){1.0 / x, x - slip / 3.0, -1.0 / (x * x * x)};
  return (rf_barrier_slip){(2.0 - x / slip) / slip, x * x / slip * (1.0 - x / (3.0 * slip)),
                           x > 0.0 ? -1.0 / (slip * slip * x) : 0.0};
}

#endif
