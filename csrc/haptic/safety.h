// Safety limits between the simulation and a hand.
//
// Forces and torques reach the device only through here: finite, limited in size and rate, faded in
// at the beginning, and zero once something has failed.  The passivity controller works between the
// two steps: it sees the force after the slew rates, and its reductions take effect at once.
// The limits hold whatever the coupling does; they replace none of the device's own.
#ifndef RF_HAPTIC_SAFETY_H
#define RF_HAPTIC_SAFETY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "device/device.h"

typedef struct rf_safety_settings {
  double max_force_n, max_torque_nm;   // in size, >= 0; INFINITY: any
  double slew_n_per_s, slew_nm_per_s;  // of changes, > 0; INFINITY: any
  double ramp_s;                       // from nothing to all of it, >= 0; see rf_safety_resume_rt
  double silent_s;                     // without a new sample, after which there is no force
} rf_safety_settings;

typedef struct rf_safety_state {
  rf_device_wrench last;  // by the slew rates, before a controller lowered it
  double ramp;            // share that goes out, 0 to 1
  double quiet_s;         // since the last new sample
  uint64_t count;         // of that sample
  bool enabled;           // else the forces fade out
  bool paused;            // the next force comes too late to go out
  bool resumed;           // forces fade in after a pause or a silence, or for another hand
} rf_safety_state;

// Reasons for a limited wrench: bits of a record's flags.
enum {
  RF_SAFETY_CLAMPED = 1,  // in size
  RF_SAFETY_SLEWED = 2,   // in its change
  RF_SAFETY_SILENT = 4,   // no new sample of the device for too long
  RF_SAFETY_BROKEN = 8,   // not finite: zero
  RF_SAFETY_FADING = 16,  // a share of it goes out
  RF_SAFETY_PAUSED = 32   // the machine paused before it for too long: zero, then fading in
};

RF_MUST_CHECK rf_status rf_safety_check(const rf_safety_settings *set, rf_error *err);

// Checks a sample, `elapsed_s` after the last one; returns flags to add.
uint32_t rf_safety_watch_rt(const rf_safety_settings *set, double elapsed_s,
                            const rf_device_sample *sample, rf_safety_state *state);
// Lets forces fade in again, over `ramp_s` and no faster than over 0.05 s: the hand has moved
// meanwhile, or is another one.
void rf_safety_resume_rt(rf_safety_state *state);
// Sets the force of this cycle to zero: it goes out too long after the last one, which the hand may
// have left meanwhile.  Forces fade in again.  Returns flags to add.
uint32_t rf_safety_pause_rt(rf_safety_state *state);
// Limits `wanted` in place; returns flags to add.  Slews and ramps count cycles of `dt_s`: after a
// pause a step of the force is no larger than after any other cycle.
uint32_t rf_safety_limit_rt(const rf_safety_settings *set, double dt_s, rf_safety_state *state,
                            rf_device_wrench *wanted);
// Final check after the controller: finite and no larger than allowed.
uint32_t rf_safety_last_rt(const rf_safety_settings *set, rf_safety_state *state,
                           rf_device_wrench *wanted);

#endif
