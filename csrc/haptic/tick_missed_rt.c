// Stage that makes up for missed cycles.
//
// While the thread was late, the hand moved on and the object did not.  One step over the whole
// distance would leave the object behind, and the coupling would pull the hand, in free space too.
// So the missed cycles are made now, without a force, at poses of the hand between its last two:
// the object and the bodies then are where they would be if no cycle had been missed.
#include <math.h>

#include "haptic/tick_state.h"
#include "linalg/quat.h"
#include "render/step_rt.h"

// Most cycles that are made up for; if more were missed, each covers more of the hand's motion.
static const double MOST = 64.0;
static const double SHORTEST_US = 1.0;  // least time assumed for a cycle
// Time that may be spent: part of a period, or of a longer delay, and of the time that is left
// until the delay counts as a pause.  A cycle that becomes late by this is less late than the
// present one, so that delays die away.
static const double PERIOD_SPENT = 0.5, DELAY_SPENT = 0.125, LEFT_SPENT = 0.5;

static double most_us(const rf_cycle *c) {
  const double elapsed_us = 1e6 * c->elapsed_s;
  const double most = fmax(1e6 * PERIOD_SPENT * c->t->set.dt_s, DELAY_SPENT * elapsed_us);
  return fmin(most, LEFT_SPENT * (c->t->pause_us - elapsed_us));
}

// Returns the number of cycles to make up for, by the processor time of the last one.
static int32_t missed(const rf_cycle *c) {
  const rf_tick *t = c->t;
  const double n = fmin(floor(c->elapsed_s / t->set.dt_s - 0.5), MOST);
  // negative after a pause, when no force is sent
  const double in_time = floor(most_us(c) / fmax(t->cycle_us, SHORTEST_US));
  return (int32_t)fmax(fmin(n, in_time), 0.0);
}

static rf_status make(rf_cycle *c) {
  rf_status st = rf_stage_contact_rt(c);
  if (st >= 0) st = rf_stage_object_rt(c);
  return st < 0 ? st : rf_stage_bodies_rt(c);
}

rf_status rf_stage_missed_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  c->step_s = c->elapsed_s;
  if (c->elapsed_s < 1.5 * t->set.dt_s) return RF_OK;
  const int32_t n = missed(c);
  if (n == 0) return RF_OK;
  const rf_pose hand = t->workspace.manipulandum, last = c->before;
  const double start_us = c->lap_us, until_us = start_us + most_us(c);
  rf_status st = RF_OK;
  double way[6];
  for (int i = 0; i < 3; ++i) way[i] = hand.position_m[i] - last.position_m[i];
  rf_quat_rotation_between(last.quaternion, hand.quaternion, way + 3);
  c->step_s = c->elapsed_s / (n + 1);
  for (int32_t k = 1; k <= n && st >= 0 && c->lap_us < until_us; ++k) {
    double part[6];
    for (int i = 0; i < 6; ++i) part[i] = way[i] * k / (n + 1);
    t->workspace.manipulandum = rf_moved(&last, part);
    st = make(c);
    c->before = t->workspace.manipulandum;
    c->processor_begun_us = rf_processor_us_rt();
    c->forces_us = 0.0;  // counts in the cycle itself, as the other times
    ++c->made_up;
  }
  t->workspace.manipulandum = hand;
  c->step_s *= n + 1 - c->made_up;
  c->made_up_us = c->lap_us - start_us;
  c->out->flags |= RF_TICK_MADE_UP;
  return st;
}
