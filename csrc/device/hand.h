// A simulated hand: a mass coupled by spring and damper to an intended pose, and subject to the
// forces of the device.  The intended pose follows a trajectory, to test the stability of sessions,
// or a pointer (device/mouse.h).
//
// Like a real device it applies a constant force between two samples; in between, the motion is
// integrated exactly, with the intended pose moving at constant velocity, so that any instability
// is that of the loop.  With x the displacement from the intended pose,
//     m x'' + b x' + k x = F,
// and likewise in rotation about all axes, as a rotation vector.
#ifndef RF_DEVICE_HAND_H
#define RF_DEVICE_HAND_H

#include "device/device.h"
#include "device/intent.h"
#include "device/oscillator.h"

typedef struct rf_hand_settings {
  rf_oscillator position, rotation;
  double max_force_n, max_torque_nm;  // largest that the device renders, > 0; INFINITY: no limit
} rf_hand_settings;

typedef struct rf_hand {
  rf_hand_settings set;
  rf_intent intent;
  bool begun;
  double last_s;
  rf_pose intended_then;  // intended pose at that time
  rf_pose handle;         // pose of the last sample
  double way[6];          // offset from it: displacement, rotation vector
  double velocity[6];     // velocity of the hand, m/s, rad/s
  rf_device_wrench wrench;
  _Atomic int halted;
  uint64_t count;
  bool lost;  // the motion is not finite
} rf_hand;

// Takes ownership of the intent, also on failure.
RF_MUST_CHECK rf_status rf_hand_create(const rf_hand_settings *set, rf_intent intent,
                                       rf_device **out, rf_error *err);
// Returns the source of a hand's intended pose; `self` is NULL for other devices.
rf_intent rf_hand_intent(const rf_device *device);

rf_status rf_hand_read_rt(void *self, double time_s, rf_device_sample *out);
rf_status rf_hand_write_rt(void *self, double time_s, const rf_device_wrench *wrench);

#endif
