// Backward Euler: the stage (newton.h) of a step of h from (q, v) to x has
//   vel = (x - q) / h,   acc = (vel - v) / h
// First order.  A mode of angular frequency w loses the fraction 1 - 1/sqrt(1 + (w h)^2) of its
// amplitude in each step, so that contact needs no other rates.
#include "dynamics/scheme.h"

static void tabulate(const void *settings, double h, rf_step_kind kind, int32_t k, rf_stage *out) {
  (void)settings, (void)kind, (void)k;
  out->velocity[RF_STAGE_CHANGE] = 1.0 / h;
  out->acceleration[RF_STAGE_CHANGE] = 1.0 / (h * h);
  out->acceleration[RF_STAGE_VELOCITY] = -1.0 / h;
  out->span_s = h;
}

const rf_scheme rf_scheme_backward_euler = {.name = "backward_euler",
                                            .stages = 1,
                                            .with_modes = true,
                                            .takes_barriers = true,
                                            .tabulate = tabulate};
