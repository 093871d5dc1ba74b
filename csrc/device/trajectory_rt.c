#include <math.h>
#include <string.h>

#include "device/trajectory.h"
#include "linalg/quat.h"

// Finds the last pose not later than time_s, starting at the last query, as time usually advances.
static int64_t find(const rf_trajectory *t, double time_s) {
  int64_t low = 0, high = t->n - 1;
  if (t->time_s[t->at] <= time_s) {
    low = t->at;
    for (int step = 0; step < 8; ++step) {
      if (low == high || t->time_s[low + 1] > time_s) return low;
      ++low;
    }
  } else {
    high = t->at;
  }
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (t->time_s[middle] <= time_s)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

uint32_t rf_trajectory_at_rt(rf_trajectory *t, double time_s, rf_pose *pose, double velocity[6]) {
  const int64_t k = find(t, time_s);
  t->at = k;
  *pose = t->pose[k];
  memset(velocity, 0, 6 * sizeof *velocity);
  if (k + 1 == t->n || time_s < t->time_s[k]) return t->buttons[k];
  const rf_pose *next = &t->pose[k + 1];
  const double span = t->time_s[k + 1] - t->time_s[k], share = (time_s - t->time_s[k]) / span;
  double rotation[3], step[4], turned[4];
  rf_quat_rotation_between(pose->quaternion, next->quaternion, rotation);
  for (int i = 0; i < 3; ++i) {
    velocity[i] = (next->position_m[i] - pose->position_m[i]) / span;
    velocity[i + 3] = rotation[i] / span;
    pose->position_m[i] += share * (next->position_m[i] - pose->position_m[i]);
    rotation[i] *= share;
  }
  rf_quat_of_rotation(rotation, step);
  rf_quat_multiply(step, pose->quaternion, turned);
  rf_quat_normalize(turned, pose->quaternion);
  return t->buttons[k];
}
