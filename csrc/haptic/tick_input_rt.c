// Stages that read the device and move the manipulandum.
#include "haptic/tick_state.h"

// Continues with another hand, at any pose, as with a device that has just been opened.
static void take_over(rf_tick *t) {
  const bool enabled = t->safety.enabled;
  rf_tick_begin_rt(t);
  t->safety.enabled = enabled;
  rf_safety_resume_rt(&t->safety);
}

rf_status rf_stage_read_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  const rf_status st = c->device->table->read_rt(c->device->self, c->time_s, &c->sample);
  c->out->device_us = rf_cycle_lap_rt(c);
  c->processor_us = c->processor_begun_us = rf_processor_us_rt();
  (void)rf_cycle_lap_rt(c);
  if (st < 0 || !rf_pose_usable_rt(&c->sample.pose)) return RF_ERR_DEVICE;
  if (c->sample.other) take_over(t);
  rf_tick_put_pose(&c->sample.pose, c->out->device_position, c->out->device_quaternion);
  c->out->buttons = c->sample.buttons;
  // cycles may have been skipped since the last sample
  const bool follows = t->last_s >= 0.0 && c->time_s > t->last_s;
  c->elapsed_s = follows ? c->time_s - t->last_s : t->set.dt_s;
  t->last_s = c->time_s;
  c->out->flags = rf_safety_watch_rt(&t->set.safety, c->elapsed_s, &c->sample, &t->safety);
  return RF_OK;
}

rf_status rf_stage_hand_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  const bool first = !t->workspace.begun;
  c->before = t->workspace.manipulandum;
  rf_workspace_map_rt(&t->set.workspace, &c->sample.pose, c->sample.buttons, &t->workspace);
  // the first sample puts the object at the hand: no force
  if (first) {
    c->before = t->coupling.coupling.object = t->workspace.manipulandum;
    rf_body_hold_rt(t->object, &t->workspace.manipulandum);
    t->limit.begun = false;
  }
  if (t->workspace.held) c->out->flags |= RF_TICK_CLUTCHED;
  return RF_OK;
}
