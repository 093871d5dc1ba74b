// A simulated hand: a mass coupled by spring and damper to an intended trajectory, and subject to
// the forces of the device.  Used to test the stability of sessions.
//
// Like a real device it applies a constant force between two samples; in between, the motion is
// integrated exactly, with the intended pose moving at constant velocity, so that any instability
// is that of the loop.  With x the displacement from the intended pose,
//     m x'' + b x' + k x = F,
// and likewise in rotation about all axes, as a rotation vector.
#ifndef RF_DEVICE_HAND_H
#define RF_DEVICE_HAND_H

#include "device/device.h"
#include "device/trajectory.h"

typedef struct rf_oscillator {
  double mass, damping, stiffness;  // kg, N s/m, N/m; or kg m^2, N m s, N m
} rf_oscillator;

typedef struct rf_hand_settings {
  rf_oscillator position, rotation;
  double max_force_n, max_torque_nm;  // largest that the device renders, > 0; INFINITY: no limit
} rf_hand_settings;

typedef struct rf_hand {
  rf_hand_settings set;
  rf_trajectory *intended;
  bool begun;
  double last_s;
  rf_pose intended_then;  // intended pose at that time
  double way[6];          // offset from it: displacement, rotation vector
  double velocity[6];     // velocity of the hand, m/s, rad/s
  rf_device_wrench wrench;
  _Atomic int halted;
  uint64_t count;
  bool lost;  // the motion is not finite
} rf_hand;

// Takes ownership of the trajectory, also on failure.
RF_MUST_CHECK rf_status rf_hand_create(const rf_hand_settings *set, rf_trajectory *intended,
                                       rf_device **out, rf_error *err);

rf_status rf_hand_read_rt(void *self, double time_s, rf_device_sample *out);
rf_status rf_hand_write_rt(void *self, double time_s, const rf_device_wrench *wrench);

#endif
