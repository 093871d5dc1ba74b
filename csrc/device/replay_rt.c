#include "device/replay.h"

#include <string.h>

rf_status rf_replay_read_rt(void *self, double time_s, rf_device_sample *out) {
  rf_replay *r = self;
  double velocity[6];
  out->buttons = rf_trajectory_at_rt(r->trajectory, time_s, &out->pose, velocity);
  memcpy(out->velocity_m_s, velocity, sizeof out->velocity_m_s);
  memcpy(out->turn_rad_s, velocity + 3, sizeof out->turn_rad_s);
  out->count = ++r->count;
  return RF_OK;
}

rf_status rf_replay_write_rt(void *self, double time_s, const rf_device_wrench *wrench) {
  (void)self;
  (void)time_s;
  (void)wrench;
  return RF_OK;
}
