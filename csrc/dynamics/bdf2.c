// BDF2 (A21 (7)): the stage (newton.h) of a step of h from u = (q, v) to x has
//   (x, vel) = u + (u - u_before) / 3 + 2h/3 (vel, acc)
// Second order and L-stable; a mode of angular frequency w with w h = t << 1 loses t^3 / 4 of its
// amplitude in a radian.  The first step is one of backward Euler.  Contact needs no other rates.
#include "dynamics/stages.h"

static void tabulate(const void *settings, double h, rf_step_kind kind, int32_t k, rf_stage *out) {
  (void)settings, (void)k;
  const bool first = kind == RF_STEP_FIRST;
  rf_scheme_follow(first ? h : 2.0 * h / 3.0, RF_STAGE_STEP, first ? 0.0 : 1.0 / 3.0, out);
  out->span_s = h;
}

const rf_scheme rf_scheme_bdf2 = {.name = "bdf2",
                                  .stages = 1,
                                  .takes_barriers = true,
                                  .remembers = true,
                                  .with_modes = true,
                                  .tabulate = tabulate};
