// Shared by both couplings: steps of poses; for real-time files only.
#ifndef RF_RENDER_STEP_RT_H
#define RF_RENDER_STEP_RT_H

#include "linalg/quat.h"
#include "linalg/vec3.h"
#include "render/virtual_coupling.h"

// Returns a pose moved by a displacement and turned by a rotation vector about its own position.
static inline rf_pose rf_moved(const rf_pose *pose, const double move[6]) {
  rf_pose next;
  double step[4], turned[4];
  for (int i = 0; i < 3; ++i) next.position_m[i] = pose->position_m[i] + move[i];
  rf_quat_of_rotation(move + 3, step);
  rf_quat_multiply(step, pose->quaternion, turned);
  rf_quat_normalize(turned, next.quaternion);
  return next;
}

// out = to + matrix wrench
void rf_coupling_add_rt(const double matrix[36], const double wrench[6], const double to[6],
                        double out[6]);

// Returns the share of the coupling that acts next, by the depth of the contact.
double rf_coupling_relief_rt(const rf_coupling_settings *set, const rf_coupling_load *load,
                             double share);

// Returns the travel that an object `depth_m` deep may make without a contact query: half of the
// difference to the largest depth, at least an eighth of the largest depth (render/depth_limit.h).
static inline double rf_travel_left(double most_m, double depth_m) {
  return 0.5 * fmax(most_m - depth_m, 0.25 * most_m);
}

#endif
