#include "dynamics/newmark.h"

#include <math.h>

// least gamma of a step with a stiffness from contact: see the header
static const double ADDED_GAMMA = 0.6;

static rf_newmark_coefficients coefficients(double h, double b, double g) {
  return (rf_newmark_coefficients){.a1 = 1.0 / (b * h * h),
                                   .a2 = 1.0 / (b * h),
                                   .a3 = (1.0 - 2.0 * b) / (2.0 * b),
                                   .a4 = g / (b * h),
                                   .a5 = 1.0 - g / b,
                                   .a6 = (1.0 - g / (2.0 * b)) * h};
}

static rf_status plan(const rf_motion_settings *set, void *out, rf_error *err) {
  rf_newmark_plan *p = out;
  if (!(isfinite(set->beta) && set->beta > 0.0 && set->beta <= 1.0))
    return rf_fail(err, RF_ERR_ARG, "beta must be in (0, 1] for an implicit scheme, got %g%s",
                   set->beta,
                   set->beta == 0.0 ? "; beta = 0 is explicit: use CentralDifferences" : "");
  if (!(isfinite(set->gamma) && set->gamma >= 0.0 && set->gamma <= 1.0))
    return rf_fail(err, RF_ERR_ARG, "gamma must be in [0, 1], got %g", set->gamma);
  p->plain = p->added = coefficients(set->dt_s, set->beta, set->gamma);
  if (set->gamma < ADDED_GAMMA) {
    const double beta = 0.25 * (ADDED_GAMMA + 0.5) * (ADDED_GAMMA + 0.5);
    p->added = coefficients(set->dt_s, fmax(set->beta, beta), ADDED_GAMMA);
  }
  p->now = &p->plain;
  return RF_OK;
}

#define SETTING(name, field, kind) RF_SETTING(rf_motion_settings, name, field, kind, 0)
static const rf_setting SETTINGS[] = {
    SETTING("dt", dt_s, DOUBLE),       SETTING("beta", beta, DOUBLE),
    SETTING("gamma", gamma, DOUBLE),   SETTING("newton_max", newton_max, INT32),
    SETTING("tol", tolerance, DOUBLE), {0}};

const rf_scheme rf_newmark = {.name = "newmark",
                              .plan_bytes = sizeof(rf_newmark_plan),
                              .plan = plan,
                              .settings = SETTINGS,
                              .operations = &rf_newmark_rt,
                              .remedy =
                                  "displacement, velocity or tangent is no longer finite or "
                                  "solvable; the state before this step is kept; try a "
                                  "smaller dt, more damping or newton_max > 1"};
