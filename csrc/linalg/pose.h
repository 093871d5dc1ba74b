// Pose of a moving object: its frame in the world.
#ifndef RF_LINALG_POSE_H
#define RF_LINALG_POSE_H

#include <math.h>
#include <stdbool.h>

#include "base/status.h"
#include "linalg/quat.h"

// Quaternions must be of unit length to within this, and are then normalised.
#define RF_POSE_TOLERANCE 1e-6
// Positions must be below this, m, so that squares of values derived from them are finite.
#define RF_POSE_FARTHEST 1e100

typedef struct rf_pose {
  double position_m[3];
  double quaternion[4];  // w, x, y, z; from body to world
} rf_pose;

static inline double rf_pose_norm_rt(const rf_pose *pose) {
  const double *a = pose->quaternion;
  return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3]);
}

static inline bool rf_pose_usable_rt(const rf_pose *pose) {
  bool usable = fabs(rf_pose_norm_rt(pose) - 1.0) <= RF_POSE_TOLERANCE;
  for (int i = 0; i < 3; ++i) usable = usable && fabs(pose->position_m[i]) < RF_POSE_FARTHEST;
  return usable;
}

// A pose seen from a frame.
static inline rf_pose rf_pose_seen_from_rt(const rf_pose *frame, const rf_pose *pose) {
  const double *q = frame->quaternion, back[4] = {q[0], -q[1], -q[2], -q[3]};
  double way[3], turned[4];
  rf_pose out = *frame;
  rf_vec3_sub(pose->position_m, frame->position_m, way);
  rf_quat_rotate_back(q, way, out.position_m);
  rf_quat_multiply(back, pose->quaternion, turned);
  rf_quat_normalize(turned, out.quaternion);
  return out;
}

// Computes the rotation R that maximises tr(R^T B), with B = sum x X^T that of the best fit of
// places X to x (row-major).  False if it is not unique.
bool rf_pose_fit_rt(const double B[9], double R[9]);

// Rejects unusable poses with an explanation.
RF_MUST_CHECK rf_status rf_pose_check(const rf_pose *pose, rf_error *err);

#endif
