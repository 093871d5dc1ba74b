// A pose over time, interpolated between given poses, for replays and simulated hands.
//
// Between two poses positions move straight and rotations the shorter way, at constant velocity;
// before the first pose and after the last the pose is constant.
#ifndef RF_DEVICE_TRAJECTORY_H
#define RF_DEVICE_TRAJECTORY_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/pose.h"

typedef struct rf_trajectory {
  int64_t n;
  int64_t at;         // interval of the last query
  double *time_s;     // ascending                       (n)
  rf_pose *pose;      // with unit quaternions             (n)
  uint32_t *buttons;  // pressed from this time on         (n)
} rf_trajectory;

// Copies the arrays; buttons: NULL, none.
RF_MUST_CHECK rf_status rf_trajectory_create(int64_t n, const double *time_s,
                                             const double *positions, const double *quaternions,
                                             const uint32_t *buttons, rf_trajectory **out,
                                             rf_error *err);
void rf_trajectory_free(rf_trajectory *t);  // NULL is allowed

// Computes the pose and its velocity, m/s and rad/s (6), towards the next pose; returns the
// buttons.
uint32_t rf_trajectory_at_rt(rf_trajectory *t, double time_s, rf_pose *pose, double velocity[6]);

#endif
