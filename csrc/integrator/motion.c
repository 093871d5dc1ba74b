#include "integrator/motion.h"

#include <math.h>

rf_status rf_motion_check(double dt_s, double damping_mass, double damping_stiff, rf_error *err) {
  if (!(isfinite(dt_s) && dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be finite and positive, got %g", dt_s);
  if (!(isfinite(damping_mass) && damping_mass >= 0.0 && isfinite(damping_stiff) &&
        damping_stiff >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "damping must be two finite numbers >= 0, got (%g, %g)",
                   damping_mass, damping_stiff);
  return RF_OK;
}

rf_status rf_damping_fits(const rf_damping *damping, const rf_reduced *model, rf_error *err) {
  if (!damping || damping->r == model->r) return RF_OK;
  return rf_fail(err, RF_ERR_ARG,
                 "strain_rate is the damping of %d reduced coordinates, but the model has %d",
                 damping->r, model->r);
}

rf_status rf_motion_not_finite(rf_error *err) {
  return rf_fail(err, RF_ERR_DIVERGED,
                 "the initial state or its acceleration is not finite; q or qdot is too large");
}
