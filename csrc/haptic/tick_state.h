// Private state of a tick; for tick.c and tick_rt.c only.
#ifndef RF_HAPTIC_TICK_STATE_H
#define RF_HAPTIC_TICK_STATE_H

#include "coupling/hold.h"
#include "haptic/coupled.h"
#include "haptic/tick.h"

typedef struct rf_tick_part {
  rf_penalty *penalty;
  rf_motion *shell;  // NULL: at rest
  int64_t steps;     // steps of the shell in a cycle
  double *reduced;   // reduced force on the shell                                     (r)
} rf_tick_part;

struct rf_tick {
  rf_tick_settings set;
  int32_t n_parts;
  rf_tick_part part[RF_TICK_MOST_CONTACTS];
  rf_coupled *coupled;  // NULL: split
  rf_motion *field;     // simulation of the field object; NULL: it does not deform
  int64_t field_steps;
  double *field_reduced, *field_sum;  // of one contact, sum of all            (r)
  double grasp_m[3];                  // grasp point in the frame of the field object

  int64_t ticks;
  double last_s;              // time of the last cycle; negative: none since opening
  double pause_us;            // clock time between two forces that counts as a pause
  double limited_us;          // clock time of the last force; negative: as last_s
  rf_dynamic_state coupling;  // velocities: dynamic coupling only
  rf_hold hold;
  rf_workspace_state workspace;
  rf_safety_state safety;
  rf_passivity_state passivity;
  double rest_us;  // running estimate of the time of a cycle without contact
};

#endif
