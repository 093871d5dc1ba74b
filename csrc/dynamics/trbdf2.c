// TR-BDF2 (A21 (9)): the trapezoidal rule to the middle of the step, then BDF2 with equal steps.
// Second order, L-stable.
#include "dynamics/stages.h"

static void tabulate(const void *settings, double h, rf_step_kind kind, int32_t k, rf_stage *out) {
  (void)settings, (void)kind;
  if (k == 0)
    rf_scheme_trapezoidal(0.25 * h, out);
  else
    rf_scheme_continue(h / 3.0, 4.0 / 3.0, out);
  out->span_s = 0.5 * h;
}

const rf_scheme rf_scheme_trbdf2 = {
    .name = "trbdf2", .stages = 2, .with_modes = true, .tabulate = tabulate};
