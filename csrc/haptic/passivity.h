// Energy at the hand: a passivity observer and controller (Hannaford and Ryu 2002).
//
// Between two samples the device holds the force, so the energy given to the hand is exactly
//     E = sum of F . dx + T . dw ;
// a passive simulation never gives more than it has taken: E <= 0.  The controller keeps E within
// an allowance A.  The motion of the hand under the next force is unknown: it is assumed to
// continue as in the last cycle, and half of A is reserved for the difference.  Forces and torques
// that would use up the other half within 20 ms are scaled down by a common factor, which recovers
// within 300 ms, or as slowly as the slew rates demand.  Beyond that half a damper takes energy
// back, up to a largest damping.  The controller follows the slew rates: a force that decays slowly
// because of them gives energy too, and a reduction must not be delayed.
#ifndef RF_HAPTIC_PASSIVITY_H
#define RF_HAPTIC_PASSIVITY_H

#include <stdbool.h>

#include "device/device.h"
#include "haptic/safety.h"

typedef struct rf_passivity_settings {
  bool control;
  double allowance_j;            // A, >= 0
  double max_damping_n_s_per_m;  // largest damping of the controller, >= 0
  double max_damping_nm_s;       // likewise, angular
} rf_passivity_settings;

typedef struct rf_passivity_state {
  bool begun;
  rf_pose last_pose;      // device pose of the last sample
  rf_device_wrench last;  // wrench on the device since then
  double energy_j;        // energy given to the hand so far
  double most_j;          // its maximum so far
  double less;            // part of the wrench that the controller removes, in [0, 1]
  double taken_j;         // energy withheld or taken back by the controller
} rf_passivity_state;

// Adds the energy of the time up to this pose, `elapsed_s` after the last one.  Reduces `wrench`,
// that of the next cycle of length `dt_s`, in place if it would give too much energy.  `rates`:
// slew rates applied before; `share`: factor of the damper while forces fade.
void rf_passivity_step_rt(const rf_passivity_settings *set, const rf_safety_settings *rates,
                          double dt_s, double elapsed_s, double share, const rf_pose *pose,
                          rf_passivity_state *state, rf_device_wrench *wrench);
// Stores the wrench that goes to the device, for the energy of the next cycle.
void rf_passivity_hold_rt(const rf_device_wrench *wrench, rf_passivity_state *state);

#endif
