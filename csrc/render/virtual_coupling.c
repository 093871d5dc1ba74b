#include "render/virtual_coupling.h"

#include <math.h>
#include <stddef.h>

static rf_status positive(double value, const char *name, bool may_be_infinite, rf_error *err) {
  if (value > 0.0 && (may_be_infinite || isfinite(value))) return RF_OK;
  return rf_fail(err, RF_ERR_ARG, "%s must be positive%s, got %g", name,
                 may_be_infinite ? "" : " and finite", value);
}

rf_status rf_coupling_check(const rf_coupling_settings *set, rf_error *err) {
  const struct {
    double value;
    const char *name;
    bool may_be_infinite;
  } all[] = {
      {set->stiffness_n_per_m, "stiffness", false}, {set->torsion_nm, "torsional_stiffness", false},
      {set->max_force_n, "max_force", true},        {set->max_torque_nm, "max_torque", true},
      {set->max_depth_m, "max_depth", true},        {set->max_step_m, "max_speed", true},
      {set->max_turn_rad, "max_turn_rate", true},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    const rf_status st = positive(all[i].value, all[i].name, all[i].may_be_infinite, err);
    if (st < 0) return st;
  }
  if (!(set->reach_m >= 0.0 && isfinite(set->reach_m)))
    return rf_fail(err, RF_ERR_ARG, "reach must be finite and not negative, got %g", set->reach_m);
  if (!(set->damping >= 0.0 && set->damping < 1.0))
    return rf_fail(err, RF_ERR_ARG, "damping must be at least 0 and less than 1, got %g",
                   set->damping);
  if (!(set->degenerate > 0.0 && set->degenerate < 1.0))
    return rf_fail(err, RF_ERR_ARG, "degenerate must be between 0 and 1, got %g", set->degenerate);
  return RF_OK;
}
