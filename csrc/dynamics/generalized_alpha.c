// Generalized-alpha (A21 (12), Chung and Hulbert): Newmark's rates, and the equation of motion
// averaged over a step,
//   M ((1 - m) acc + m a) = (1 - f) F(x, vel) + f F(q, v)
// with m = (2 rho - 1) / (rho + 1), f = rho / (rho + 1), gamma = 1/2 - m + f and
// beta = (1 - m + f)^2 / 4.  Second order; rho is the amplification of infinite frequencies: 1 is
// the trapezoidal rule of the middle of a step, 0 damps them in one step.  With contact rho is 0.6
// at most: see newmark.h.
#include <math.h>

#include "dynamics/newmark.h"

static const double TOUCHING_RHO = 0.6;

typedef struct alpha_settings {
  double rho;
} alpha_settings;

static rf_status check(const void *settings, rf_error *err) {
  const alpha_settings *set = settings;
  if (isfinite(set->rho) && set->rho >= 0.0 && set->rho <= 1.0) return RF_OK;
  return rf_fail(err, RF_ERR_ARG, "rho must be in [0, 1], got %g", set->rho);
}

static void tabulate(const void *settings, double h, rf_step_kind kind, int32_t k, rf_stage *out) {
  const alpha_settings *set = settings;
  (void)k;
  const double rho = kind == RF_STEP_TOUCHING ? fmin(set->rho, TOUCHING_RHO) : set->rho;
  const double of_mass = (2.0 * rho - 1.0) / (rho + 1.0), of_force = rho / (rho + 1.0);
  const double sum = 1.0 - of_mass + of_force, end = 1.0 - of_force;
  rf_scheme_newmark_rates(0.25 * sum * sum, sum - 0.5, h, out);
  out->inertia[0] = (1.0 - of_mass) / end;
  out->inertia[1] = of_mass / end;
  out->carried = of_force / end;
}

static const rf_setting SETTINGS[] = {RF_SETTING(alpha_settings, "rho", rho, DOUBLE, 0), {0}};

const rf_scheme rf_scheme_generalized_alpha = {.name = "generalized_alpha",
                                               .settings = SETTINGS,
                                               .settings_bytes = sizeof(alpha_settings),
                                               .check = check,
                                               .stages = 1,
                                               .tabulate = tabulate};
