// Safety limits between the simulation and a hand.
//
// Forces and torques reach the device only through here: finite, limited in size and rate, faded in
// at the beginning, and zero after a failure.  The passivity controller works between the two
// steps: it gets the force after the slew rates, and its reductions take effect at once.  The
// limits hold for any output of the coupling, in addition to the device's own.
#ifndef RF_HAPTIC_SAFETY_H
#define RF_HAPTIC_SAFETY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "device/device.h"

typedef struct rf_safety_settings {
  double max_force_n, max_torque_nm;   // magnitudes, >= 0; INFINITY: unlimited
  double slew_n_per_s, slew_nm_per_s;  // rates, > 0; INFINITY: unlimited
  double ramp_s;                       // duration of a fade, >= 0; see rf_safety_resume_rt
  double silent_s;  // time without a new sample after which the force is zero, > 0
} rf_safety_settings;

typedef struct rf_safety_state {
  rf_device_wrench last;  // after the slew rates, before the passivity controller
  double ramp;            // share of the force that is sent, 0 to 1
  double quiet_s;         // time since the last new sample
  uint64_t count;         // count of that sample
  bool enabled;           // false: the forces fade out
  bool paused;            // the next force is too late and is not sent
  bool resumed;           // forces fade in after a pause or a silence, or for another hand
  bool muted;             // forces fade out, and in again once they are not muted any more
} rf_safety_state;

// Reasons for a limited wrench: bits of a record's flags.
enum {
  RF_SAFETY_CLAMPED = 1,  // in magnitude
  RF_SAFETY_SLEWED = 2,   // in rate
  RF_SAFETY_SILENT = 4,   // no new sample of the device for too long
  RF_SAFETY_BROKEN = 8,   // not finite: zero
  RF_SAFETY_FADING = 16,  // scaled by the ramp
  RF_SAFETY_PAUSED = 32   // sent too long after the last one: zero, then fading in
};

RF_MUST_CHECK rf_status rf_safety_check(const rf_safety_settings *set, rf_error *err);

// Checks a sample, `elapsed_s` after the last one; returns flags to add.
uint32_t rf_safety_watch_rt(const rf_safety_settings *set, double elapsed_s,
                            const rf_device_sample *sample, rf_safety_state *state);
// Makes forces fade in again, over `ramp_s` and at least 0.05 s: the hand has moved meanwhile, or
// is another one.
void rf_safety_resume_rt(rf_safety_state *state);
// Makes forces fade out, within 0.05 s as nothing answers the hand, or in again as
// rf_safety_resume_rt.
void rf_safety_mute_rt(bool muted, rf_safety_state *state);
// Sets the force of this cycle to zero, because the hand may have moved far since the last one, and
// makes forces fade in again.  Returns flags to add.
uint32_t rf_safety_pause_rt(rf_safety_state *state);
// Limits `wanted` in place; returns flags to add.  Slew rates and ramps count one `dt_s` a cycle:
// after a pause the step of the force is limited as in any other cycle.
uint32_t rf_safety_limit_rt(const rf_safety_settings *set, double dt_s, rf_safety_state *state,
                            rf_device_wrench *wanted);
// Final check after the controller: zeroes a wrench that is not finite, clamps its size.
uint32_t rf_safety_last_rt(const rf_safety_settings *set, rf_safety_state *state,
                           rf_device_wrench *wanted);

#endif
