// Sources of the intended pose of a simulated hand: a table of functions each.
#ifndef RF_DEVICE_INTENT_H
#define RF_DEVICE_INTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "device/trajectory.h"
#include "linalg/pose.h"

typedef struct rf_intended {
  rf_pose pose;
  uint32_t buttons;
  bool fresh;    // new since the last call: the device counts a sample
  bool at_rest;  // nothing moves the handle, which stops at `pose`, its present one
} rf_intended;

typedef struct rf_intent_table {
  const char *name;          // of the device
  void (*open)(void *self);  // nullable
  // handle: pose of the last sample.
  void (*at_rt)(void *self, double time_s, const rf_pose *handle, rf_intended *out);
  void (*release)(void *self);
} rf_intent_table;

typedef struct rf_intent {
  const rf_intent_table *table;
  void *self;  // owned by the hand
} rf_intent;

// Takes ownership of the trajectory.
rf_intent rf_trajectory_intent(rf_trajectory *trajectory);
void rf_trajectory_intended_rt(void *self, double time_s, const rf_pose *handle, rf_intended *out);

#endif
