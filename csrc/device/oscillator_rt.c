#include "device/oscillator.h"

#include <math.h>

void rf_oscillator_step_rt(const rf_oscillator *o, double h, double force, double *x, double *v) {
  const double m = o->mass, a = 0.5 * o->damping / m, w2 = o->stiffness / m;
  if (w2 == 0.0) {
    // without a spring it drifts towards the velocity F / b
    const double c = 2.0 * a, decay = exp(-c * h);
    const double fade = c * h > 1e-6 ? -expm1(-c * h) / c : h * (1.0 - 0.5 * c * h);
    const double push = force / m;
    const double lost = c * h > 1e-4 ? (h - fade) / c : 0.5 * h * h * (1.0 - c * h / 3.0);
    *x += *v * fade + push * lost;
    *v = *v * decay + push * fade;
    return;
  }
  // about rest, x = C x0 + S (v0 + a x0), with exp(-a h) times the functions of sqrt(a^2 - w2)
  const double rest = force / o->stiffness, x0 = *x - rest, v0 = *v;
  const double d2 = a * a - w2, d = sqrt(fabs(d2)), decay = exp(-a * h);
  double c, s;
  if (d * h < 1e-4) {
    c = decay * (1.0 + 0.5 * d2 * h * h);
    s = decay * h * (1.0 + d2 * h * h / 6.0);
  } else if (d2 < 0.0) {
    c = decay * cos(d * h), s = decay * sin(d * h) / d;
  } else {
    // exponents combined: the separate growth factor could overflow while the decay vanishes
    const double slow = exp(-w2 / (a + d) * h), fast = exp(-(a + d) * h);
    c = 0.5 * (slow + fast), s = 0.5 * (slow - fast) / d;
  }
  *x = rest + c * x0 + s * (v0 + a * x0);
  *v = c * v0 - s * (a * v0 + w2 * x0);
}
