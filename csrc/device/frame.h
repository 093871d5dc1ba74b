// Poses given as a matrix and a position, as device libraries report them.
#ifndef RF_DEVICE_FRAME_H
#define RF_DEVICE_FRAME_H

#include <math.h>
#include <stdbool.h>

#include "linalg/pose.h"
#include "linalg/quat.h"

// Converts a row-major rotation matrix and a position; false if it is not a rotation or not finite.
// Columns may deviate by RF_FRAME_TOLERANCE because of sensor rounding.
#define RF_FRAME_TOLERANCE 1e-3

static inline bool rf_frame_pose(const double rotation[9], const double position_m[3],
                                 rf_pose *out) {
  bool good = true;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j)
      good = good && fabs(rf_vec3_dot(rotation + 3 * i, rotation + 3 * j) - (i == j ? 1.0 : 0.0)) <=
                         RF_FRAME_TOLERANCE;
    good = good && fabs(position_m[i]) < RF_POSE_FARTHEST;
  }
  if (!good || rf_vec3_det(rotation, rotation + 3, rotation + 6) < 0.0) return false;
  rf_quat_of_matrix(rotation, out->quaternion);
  for (int i = 0; i < 3; ++i) out->position_m[i] = position_m[i];
  return true;
}

#endif
