// Inside of a tick; for tick.c and tick_rt.c only.
#ifndef RF_HAPTIC_TICK_STATE_H
#define RF_HAPTIC_TICK_STATE_H

#include "coupling/hold.h"
#include "haptic/coupled.h"
#include "haptic/tick.h"

typedef struct rf_tick_part {
  rf_penalty *penalty;
  rf_motion *shell;  // NULL: at rest
  int64_t steps;      // of it in a cycle
  double *reduced;    // force on it                                                        (r)
} rf_tick_part;

struct rf_tick {
  rf_tick_settings set;
  int32_t n_parts;
  rf_tick_part part[RF_TICK_MOST_CONTACTS];
  rf_coupled *coupled;  // NULL: split
  rf_motion *field;    // of the object with the field; NULL: it does not deform
  int64_t field_steps;
  double *field_reduced, *field_sum;  // of a contact, and of all                           (r)
  double grasp_m[3];                  // in the frame of the field object

  int64_t ticks;
  double last_s;              // time of the last cycle; negative: none since the device was opened
  double pause_us;            // between two forces, by the clock, that is a pause
  double limited_us;          // by the clock, when the last force was limited; as last_s
  rf_dynamic_state coupling;  // velocities for the dynamic one only
  rf_hold hold;
  rf_workspace_state workspace;
  rf_safety_state safety;
  rf_passivity_state passivity;
  double rest_us;  // what a cycle takes beside the contact, as long as lately at the most
};

#endif
