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

static void tabulate(const void *settings, double h, rf_step_kind kind, int32_t k, rf_stage *out) {
  const rf_newmark_settings *set = settings;
  double b = set->beta, g = set->gamma;
  (void)k;
  if (kind == RF_STEP_TOUCHING && g < TOUCHING_GAMMA) {
    g = TOUCHING_GAMMA;
    b = fmax(b, 0.25 * (g + 0.5) * (g + 0.5));
  }
  rf_scheme_newmark_rates(b, g, h, out);
}

#define SETTING(name) RF_SETTING(rf_newmark_settings, #name, name, DOUBLE, 0)
static const rf_setting SETTINGS[] = {SETTING(beta), SETTING(gamma), {0}};

const rf_scheme rf_scheme_newmark = {.name = "newmark",
                                     .settings = SETTINGS,
                                     .settings_bytes = sizeof(rf_newmark_settings),
                                     .check = check,
                                     .stages = 1,
                                     .tabulate = tabulate};
