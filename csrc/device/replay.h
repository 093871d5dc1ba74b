// A device that plays a trajectory and ignores forces.
#ifndef RF_DEVICE_REPLAY_H
#define RF_DEVICE_REPLAY_H

#include "device/device.h"
#include "device/trajectory.h"

// Takes ownership of the trajectory, also on failure.
RF_MUST_CHECK rf_status rf_replay_create(rf_trajectory *trajectory, rf_device **out, rf_error *err);

rf_status rf_replay_read_rt(void *self, double time_s, rf_device_sample *out);
rf_status rf_replay_write_rt(void *self, double time_s, const rf_device_wrench *wrench);

typedef struct rf_replay {
  rf_trajectory *trajectory;
  uint64_t count;
} rf_replay;

#endif
