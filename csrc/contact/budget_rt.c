#include "contact/budget.h"

#include <math.h>

#include "base/clock_rt.h"

// Work that takes this many times longer than expected was interrupted.
static const double PAUSE = 2.0;
// Length of the running means, in nodes or points.
static const double MEMORY = 1000.0;
static const double LEAST_US = 1e-3;

// Updates a running mean by `weight` nodes that took some time.
static void learn(double *estimate, double us, double weight) {
  if (!(weight > 0.0)) return;
  const double one = fmin(us / weight, PAUSE * *estimate);
  const double part = fmin(weight, RF_CONTACT_LAP);
  *estimate += (one - *estimate) * part / (part + MEMORY);
  if (*estimate < LEAST_US) *estimate = LEAST_US;
}

void rf_contact_budget_reset_rt(rf_contact_budget *b, int32_t r) {
  b->last_level = -1;
  // too much rather than too little: many points may touch before any has been timed
  b->node_us = 0.1;
  b->contact_us = 0.1 + 0.01 * r;
}

void rf_contact_budget_begin_rt(rf_contact_budget *b) {
  b->start_us = b->look_us = rf_clock_us_rt();
  b->effort = b->grace_us = 0.0;
  b->counted = 0;
}

void rf_contact_budget_look_rt(rf_contact_budget *b) {
  const double now_us = rf_clock_us_rt(), lap_us = now_us - b->look_us;
  const double pause_us = lap_us - PAUSE * b->effort * b->node_us;
  // only an interruption that makes the cycle late gives it more time
  if (b->grace_us == 0.0 && pause_us > 0.0 && now_us - b->start_us > b->limit_us)
    b->grace_us = pause_us;
  learn(&b->node_us, lap_us, b->effort);
  b->effort = 0.0;
  b->look_us = now_us;
}

// True if this much more work, and the forces at the points found so far, end in time.
static bool in_time(const rf_contact_budget *b, int32_t level, double effort, int32_t touching) {
  const double need = effort * b->node_us + touching * b->contact_us;
  const double left =
      level <= b->last_level ? b->limit_us + b->grace_us : b->cold_ratio * b->limit_us;
  return b->look_us - b->start_us + need <= left;
}

bool rf_contact_budget_opens_rt(const rf_contact_budget *b, int32_t level,
                                const rf_contact_queue *q) {
  if (level == 0) return true;
  if (!b->timed) {
    const double share = level <= b->last_level ? 1.0 : b->cold_ratio;
    return b->warm_nodes <= 0 || (double)b->counted < share * b->warm_nodes;
  }
  if (b->coherence)
    return in_time(b, level, RF_CONTACT_SKIP_COST * (q->copies + q->fresh), q->touching);
  // touching points come on top, as often among the nodes to come as among those before
  const double on_top = (double)q->touching / q->visited * b->contact_us / b->node_us;
  return in_time(b, level, (q->fresh + RF_CONTACT_COPY_COST * q->copies) * (1.0 + on_top),
                 q->touching);
}

bool rf_contact_budget_lap_rt(rf_contact_budget *b, int32_t level, double share, int32_t left,
                              int32_t touching) {
  rf_contact_budget_look_rt(b);
  b->effort = share * (left < RF_CONTACT_LAP ? left : RF_CONTACT_LAP);
  return level == 0 || in_time(b, level, b->effort, touching);
}

bool rf_contact_budget_closes_rt(rf_contact_budget *b, int32_t level, int32_t touching) {
  if (!b->timed) return true;
  rf_contact_budget_look_rt(b);
  return level == 0 || in_time(b, level, 0.0, touching);
}

double rf_contact_budget_contacts_rt(rf_contact_budget *b, double since_us, int32_t n) {
  const double now_us = rf_clock_us_rt();
  learn(&b->contact_us, now_us - since_us, n);
  return now_us;
}
