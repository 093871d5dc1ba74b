#include "haptic/safety.h"

#include <math.h>
#include <stddef.h>

rf_status rf_safety_check(const rf_safety_settings *set, rf_error *err) {
  const struct {
    double value;
    const char *name;
    bool zero, infinite;
  } all[] = {
      {set->max_force_n, "max_force", true, true},
      {set->max_torque_nm, "max_torque", true, true},
      {set->slew_n_per_s, "force_slew", false, true},
      {set->slew_nm_per_s, "torque_slew", false, true},
      {set->ramp_s, "ramp", true, false},
      {set->silent_s, "silence", false, true},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    const double v = all[i].value;
    if ((all[i].zero ? v >= 0.0 : v > 0.0) && (all[i].infinite || isfinite(v))) continue;
    return rf_fail(err, RF_ERR_ARG, "%s must %s%s, got %g", all[i].name,
                   all[i].zero ? "not be negative" : "be positive",
                   all[i].infinite ? "" : " and be finite", v);
  }
  return RF_OK;
}
