// D06 algorithm 1: sweeps alone, for comparison.
#include <math.h>
#include <string.h>

#include "base/clock_rt.h"
#include "constraint/friction_work.h"

enum { POLL = 100 };  // sweeps between questions whether to stop

// Sum over the contacts of the change of the force over its size, which D06 stops by.
static double change_of(const rf_friction *s, const double *before) {
  double sum = 0.0;
  for (int32_t i = 0; i < s->m; ++i) {
    double change = 0.0, size = 0.0;
    for (int k = 0; k < 3; ++k) {
      const double f = s->force[k * s->ld + i], d = f - before[k * s->ld + i];
      change += d * d;
      size += f * f;
    }
    if (change > 0.0) sum += size > 0.0 ? sqrt(change / size) : 1.0;
  }
  return sum;
}

rf_status rf_friction_sweeps_rt(rf_friction *s, const double *free, const double *mu,
                                const double *start, double change, int32_t most,
                                const rf_friction_limits *limits, double *force, double *gap,
                                rf_contact_state *state, rf_friction_report *report) {
  const rf_friction_results out = {force, gap, state, report};
  const rf_status st = rf_friction_open_rt(s, free, mu, start, limits, &out);
  if (st < 0) return st;
  s->report.end = RF_FRICTION_STALLED;
  rf_friction_move_rt(s, s->force, s->moved);
  for (int32_t k = 0; k < most && !s->stopped && s->report.end != RF_FRICTION_SOLVED; ++k) {
    memcpy(s->best, s->force, 3 * (size_t)s->ld * sizeof *s->best);
    rf_friction_sweep_rt(s, 1);
    if (change_of(s, s->best) < change) s->report.end = RF_FRICTION_SOLVED;
    if (k % POLL == 0) rf_friction_poll_rt(s);
  }
  memcpy(s->best, s->force, 3 * (size_t)s->ld * sizeof *s->best);
  rf_friction_close_rt(s, &out);
  return RF_OK;
}
