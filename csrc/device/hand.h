// A simulated hand: a mass on a spring and a damper that lead it along an intended trajectory, and
// that feels the forces of the device.  The bench on which the stability of a session is tested.
//
// A real device holds a force between two samples; so does this one, and between them the motion
// is integrated exactly, the intention going straight on: what is unstable is the loop and not
// this.  With x the way from where the hand intends to be,
//     m x'' + b x' + k x = F,
// the same in rotation about all axes, as a rotation vector.
#ifndef RF_DEVICE_HAND_H
#define RF_DEVICE_HAND_H

#include "device/device.h"
#include "device/trajectory.h"

typedef struct rf_oscillator {
  double mass, damping, stiffness;  // kg, N s/m, N/m; or kg m^2, N m s, N m
} rf_oscillator;

typedef struct rf_hand_settings {
  rf_oscillator position, rotation;
  double max_force_n, max_torque_nm;  // that the device can render, > 0; INFINITY: any
} rf_hand_settings;

typedef struct rf_hand {
  rf_hand_settings set;
  rf_trajectory *intended;
  bool begun;
  double last_s;
  rf_pose intended_then;  // at that time
  double way[6];          // from there: displacement, rotation vector
  double velocity[6];     // of the hand, m/s, rad/s
  rf_device_wrench wrench;
  _Atomic int halted;
  uint64_t count;
  bool lost;  // its motion is not finite
} rf_hand;

// Takes the trajectory over, also on failure.
RF_MUST_CHECK rf_status rf_hand_create(const rf_hand_settings *set, rf_trajectory *intended,
                                       rf_device **out, rf_error *err);

rf_status rf_hand_read_rt(void *self, double time_s, rf_device_sample *out);
rf_status rf_hand_write_rt(void *self, double time_s, const rf_device_wrench *wrench);

#endif
