#include "dynamics/central.h"

static rf_status plan(const rf_motion_settings *set, void *out, rf_error *err) {
  (void)set, (void)out, (void)err;
  return RF_OK;
}

static const rf_setting SETTINGS[] = {RF_SETTING(rf_motion_settings, "dt", dt_s, DOUBLE, 0), {0}};

const rf_scheme rf_central = {.name = "central",
                              .is_explicit = true,
                              .plan = plan,
                              .settings = SETTINGS,
                              .operations = &rf_central_rt,
                              .remedy =
                                  "displacement or velocity is no longer finite; the state "
                                  "before this step is kept; try a smaller dt: the stable "
                                  "step shrinks where the solid stiffens (see stable_step)"};
