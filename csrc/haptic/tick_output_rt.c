// Stages that limit the force on the hand and send it.
#include <string.h>

#include "haptic/tick_state.h"

// Detects a pause of the process or the machine since the last call; called once a cycle.
static uint32_t watch_clock(rf_tick *t) {
  const double now_us = rf_clock_us_rt();
  const bool paused = t->limited_us >= 0.0 && now_us - t->limited_us > t->pause_us;
  t->limited_us = now_us;
  return paused ? rf_safety_pause_rt(&t->safety) : 0;
}

// Gives the hand the opposite of the force on the object, without saturation (4.9) or with it, and
// limits it.
rf_status rf_stage_limit_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  rf_tick_record *out = c->out;
  const rf_coupling_wrench *w = &c->report.wrench;
  const rf_safety_settings *limits = &t->set.safety;
  rf_device_wrench *wrench = &c->wrench;
  double force[3], torque[3];
  for (int i = 0; i < 3; ++i) {
    force[i] = t->set.saturated ? -out->share * w->force_n[i] : -w->linear_force_n[i];
    torque[i] = t->set.saturated ? -out->share * w->torque_nm[i] : -w->linear_torque_nm[i];
  }
  rf_workspace_render_rt(&t->set.workspace, force, torque, wrench->force_n, wrench->torque_nm);
  out->flags |= watch_clock(t);
  out->flags |= rf_safety_limit_rt(limits, t->set.dt_s, &t->safety, wrench);
  rf_passivity_step_rt(&t->set.passivity, limits, t->set.dt_s, c->elapsed_s, t->safety.ramp,
                       &c->sample.pose, &t->passivity, wrench);
  out->flags |= rf_safety_last_rt(limits, &t->safety, wrench);
  rf_passivity_hold_rt(wrench, &t->passivity);
  out->energy_j = t->passivity.energy_j;
  memcpy(out->force, wrench->force_n, sizeof wrench->force_n);
  memcpy(out->torque, wrench->torque_nm, sizeof wrench->torque_nm);
  out->coupling_us = rf_cycle_lap_rt(c);
  return RF_OK;
}

rf_status rf_stage_write_rt(rf_cycle *c) {
  const rf_status st = c->device->table->write_rt(c->device->self, c->time_s, &c->wrench);
  c->out->device_us += rf_cycle_lap_rt(c);
  return st < 0 ? RF_ERR_DEVICE : RF_OK;
}
