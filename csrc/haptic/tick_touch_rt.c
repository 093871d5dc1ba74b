// Stages of a tick whose body answers the hand directly.
#include <math.h>
#include <string.h>

#include "haptic/tick_state.h"

static rf_status feel_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  rf_tick_record *out = c->out;
  rf_touch_felt *felt = &t->felt;
  memset(felt, 0, sizeof *felt);
  const rf_status st =
      t->touch->kind->feel_rt(t->touch->self, &t->workspace.manipulandum, c->step_s, felt);
  out->contact_us = rf_cycle_lap_rt(c);
  if (st < 0) return st;
  memcpy(out->contact_force, felt->force_n, sizeof felt->force_n);
  memcpy(out->contact_torque, felt->torque_nm, sizeof felt->torque_nm);
  // the deepest of missed cycles, too
  out->depth_m = fmax(out->depth_m, felt->depth_m);
  out->touching = felt->touching;
  if (felt->flags & RF_TOUCH_DEEP) out->flags |= RF_TICK_TOO_DEEP;
  if (felt->flags & RF_TOUCH_SLIPS) out->flags |= RF_TICK_SLIPPING;
  if (felt->flags & RF_TOUCH_FAILED) out->flags |= RF_TICK_UNANSWERED;
  if (felt->flags & RF_TOUCH_INSIDE) out->flags |= RF_TICK_INSIDE;
  rf_safety_mute_rt((felt->flags & RF_TOUCH_FAILED) != 0, &t->safety);
  return RF_OK;
}

// The object is the tool that the body holds back; the hand gets the opposite of the wrench.
static rf_status object_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  rf_tick_record *out = c->out;
  rf_coupling_wrench *w = &c->report.wrench;
  for (int i = 0; i < 3; ++i) {
    w->force_n[i] = w->linear_force_n[i] = -t->felt.force_n[i];
    w->torque_nm[i] = w->linear_torque_nm[i] = -t->felt.torque_nm[i];
  }
  memcpy(t->object->wrench, t->felt.force_n, sizeof t->felt.force_n);
  memcpy(t->object->wrench + 3, t->felt.torque_nm, sizeof t->felt.torque_nm);
  out->share = 1.0;
  if (!rf_pose_usable_rt(&t->felt.object)) return RF_ERR_DIVERGED;
  t->coupling.coupling.object = t->felt.object;
  rf_tick_put_pose(&t->workspace.manipulandum, out->hand_position, out->hand_quaternion);
  rf_tick_put_pose(&t->felt.object, out->object_position, out->object_quaternion);
  return RF_OK;
}

static rf_status bodies_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  const rf_touch_kind *kind = t->touch->kind;
  const rf_status st = kind->step_rt ? kind->step_rt(t->touch->self, c->step_s) : RF_OK;
  rf_body_hold_rt(t->object, &t->coupling.coupling.object);
  c->out->deform_us = rf_cycle_lap_rt(c);
  return st;
}

const rf_tick_answer rf_tick_touched = {
    .contact_rt = feel_rt, .object_rt = object_rt, .bodies_rt = bodies_rt};
