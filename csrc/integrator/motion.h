// Shared by the schemes, for reduced models and solids: bounds of settings, messages.
#ifndef RF_INTEGRATOR_MOTION_H
#define RF_INTEGRATOR_MOTION_H

#include "base/status.h"
#include "model/reduced_model.h"
#include "polynomial/damping.h"

// RF_ERR_ARG unless the step is positive, and Rayleigh's alpha and beta are not negative.
RF_MUST_CHECK rf_status rf_motion_check(double dt_s, double damping_mass, double damping_stiff,
                                        rf_error *err);

// RF_ERR_ARG unless the damping (nullable) has as many coordinates as the model.
RF_MUST_CHECK rf_status rf_damping_fits(const rf_damping *damping, const rf_reduced *model,
                                        rf_error *err);

// Explains RF_ERR_DIVERGED of a first state, which it returns.
rf_status rf_motion_not_finite(rf_error *err);

#endif
