#include "dynamics/newmark.h"

#include <math.h>

// least gamma of a step with a stiffness from contact: see the header
static const double TOUCHING_GAMMA = 0.6;

static rf_status check(const void *settings, rf_error *err) {
  const rf_newmark_settings *set = settings;
  if (!(isfinite(set->beta) && set->beta > 0.0 && set->beta <= 1.0))
    return rf_fail(err, RF_ERR_ARG, "beta must be in (0, 1] for an implicit scheme, got %g%s",
                   set->beta,
                   set->beta == 0.0 ? "; beta = 0 is explicit: use CentralDifferences" : "");
  if (!(isfinite(set->gamma) && set->gamma >= 0.0 && set->gamma <= 1.0))
    return rf_fail(err, RF_ERR_ARG, "gamma must be in [0, 1], got %g", set->gamma);
  return RF_OK;
}

static void rates(const void *settings, double h, bool touching, rf_stage_rates *out) {
  const rf_newmark_settings *set = settings;
  double b = set->beta, g = set->gamma;
  if (touching && g < TOUCHING_GAMMA) {
    g = TOUCHING_GAMMA;
    b = fmax(b, 0.25 * (g + 0.5) * (g + 0.5));
  }
  *out = (rf_stage_rates){
      .velocity = {g / (b * h), 1.0 - g / b, (1.0 - g / (2.0 * b)) * h},
      .acceleration = {1.0 / (b * h * h), -1.0 / (b * h), -(1.0 - 2.0 * b) / (2.0 * b)}};
}

#define SETTING(name) RF_SETTING(rf_newmark_settings, #name, name, DOUBLE, 0)
static const rf_setting SETTINGS[] = {SETTING(beta), SETTING(gamma), {0}};

const rf_scheme rf_scheme_newmark = {.name = "newmark",
                                     .remedy = "try a smaller dt, more damping or newton_max > 1",
                                     .settings = SETTINGS,
                                     .settings_bytes = sizeof(rf_newmark_settings),
                                     .check = check,
                                     .rates = rates};
