// Energy at the hand: a passivity observer and controller (Hannaford and Ryu 2002).
//
// Between two samples the device holds the force, so that what has gone into the hand is exactly
//     E = sum of F . dx + T . dw ;
// a simulation that is passive never gives more than it has taken: E <= 0.  The controller keeps E
// within an allowance A.  How the hand moves while it holds a force is not known before: taken is
// that it goes on as in the last cycle, and half of A is kept for what it does instead.  Forces and
// torques that would use up the other half within 20 ms are made smaller, all by the same factor,
// and come back within 300 ms, or no faster than the slew rates allow.  Beyond that half a damper
// takes energy back, up to a largest damping.  It comes after the slew rates, as a force that one
// of them holds up gives energy too, and its reduction must not be delayed.
#ifndef RF_HAPTIC_PASSIVITY_H
#define RF_HAPTIC_PASSIVITY_H

#include <stdbool.h>

#include "device/device.h"
#include "haptic/safety.h"

typedef struct rf_passivity_settings {
  bool control;
  double allowance_j;            // A, >= 0
  double max_damping_n_s_per_m;  // of the controller, >= 0
  double max_damping_nm_s;
} rf_passivity_settings;

typedef struct rf_passivity_state {
  bool begun;
  rf_pose last_pose;      // of the device
  rf_device_wrench last;  // held since then
  double energy_j;        // given to the hand so far
  double most_j;          // largest value of it
  double less;            // part of forces that the controller leaves out, in [0, 1]
  double taken_j;         // by the controller
} rf_passivity_state;

// Adds the energy of the time up to this pose, `elapsed_s` after the last one.  Reduces `wrench`,
// that of the next cycle of length `dt_s`, in place if it would give too much.  `rates`: slew rates
// applied before; `share`: of the damper, as forces fade.
void rf_passivity_step_rt(const rf_passivity_settings *set, const rf_safety_settings *rates,
                          double dt_s, double elapsed_s, double share, const rf_pose *pose,
                          rf_passivity_state *state, rf_device_wrench *wrench);
// Stores the wrench that goes to the device, for the energy of the next cycle.
void rf_passivity_hold_rt(const rf_device_wrench *wrench, rf_passivity_state *state);

#endif
