// A pose over time, by poses at given times: what a replay plays and a simulated hand intends.
//
// Between two of them positions go straight and rotations the shorter way round, at constant
// speed; before the first and after the last it stays.
#ifndef RF_DEVICE_TRAJECTORY_H
#define RF_DEVICE_TRAJECTORY_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/pose.h"

typedef struct rf_trajectory {
  int64_t n;
  int64_t at;         // where the last look was
  double *time_s;     // ascending                       (n)
  rf_pose *pose;      // of unit quaternions             (n)
  uint32_t *buttons;  // that are down from then on      (n)
} rf_trajectory;

// Copies; buttons: NULL, none.
RF_MUST_CHECK rf_status rf_trajectory_create(int64_t n, const double *time_s,
                                             const double *positions, const double *quaternions,
                                             const uint32_t *buttons, rf_trajectory **out,
                                             rf_error *err);
void rf_trajectory_free(rf_trajectory *t);  // NULL is fine

// Velocities, m/s and rad/s (6), are those on the way to the next pose; the buttons.
uint32_t rf_trajectory_at_rt(rf_trajectory *t, double time_s, rf_pose *pose, double velocity[6]);

#endif
