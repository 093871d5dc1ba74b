// Releases of supports as cycles take them up: one after the other, blended while the tip presses.
#include <math.h>

#include "linalg/vec3.h"
#include "touch/proxy_state.h"

enum { MOST_STAGES = 64 };            // in a cycle
static const double ROUNDING = 1e-9;  // of the sum of parts of a release

void rf_tip_blend_rt(const double before[9], const double after[9], double blend,
                     double stiffness[2][9], double compliance[9]) {
  double sum[9];
  (void)rf_mat3_inverse_transposed(before, stiffness[0]);
  (void)rf_mat3_inverse_transposed(after, stiffness[1]);
  for (int k = 0; k < 9; ++k) sum[k] = (1.0 - blend) * stiffness[0][k] + blend * stiffness[1][k];
  (void)rf_mat3_inverse_transposed(sum, compliance);
}

void rf_tip_compliance_now_rt(const rf_tip *tip, int32_t triangle, const double weight[3],
                              double compliance[9]) {
  rf_tip_compliance_of_rt(tip->tables, triangle, weight, compliance);
  if (!tip->coming) return;
  double after[9], stiffness[2][9];
  rf_tip_compliance_of_rt(tip->coming->tables, triangle, weight, after);
  rf_tip_blend_rt(compliance, after, tip->blend, stiffness, compliance);
}

// Returns the next stage if its time has come.
static const rf_tip_stage *due(const rf_tip *tip) {
  const rf_tip_stage *next = atomic_load_explicit(&tip->stage->next, memory_order_acquire);
  return next && next->at_s <= tip->time_s ? next : NULL;
}

static void take_up(rf_tip *tip) {
  tip->stage = tip->coming;
  tip->tables = tip->stage->tables;
  tip->coming = NULL;
  tip->blend = 0.0;
}

void rf_tip_follow_rt(rf_tip *tip, double dt_s) {
  // a script waits for no time; a tip in the air feels no difference
  const bool blends = tip->phase == RF_TIP_TOUCHING && dt_s > 0.0;
  bool changed = false;
  tip->time_s += dt_s;
  for (int k = 0; k < MOST_STAGES; ++k) {
    if (!tip->coming) tip->coming = due(tip);
    if (!tip->coming) break;
    changed = true;
    tip->blend = blends ? fmin(tip->blend + dt_s / RF_TIP_RELEASE_S, 1.0) : 1.0;
    if (tip->blend > 1.0 - ROUNDING) take_up(tip);
    if (blends) break;
  }
  tip->now.released = (double)tip->stage->number + tip->blend;
  if (changed && tip->phase == RF_TIP_TOUCHING) rf_tip_soften_rt(tip);
}
