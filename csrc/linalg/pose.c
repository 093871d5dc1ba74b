#include "linalg/pose.h"

rf_status rf_pose_check(const rf_pose *pose, rf_error *err) {
  if (rf_pose_usable_rt(pose)) return RF_OK;
  for (int i = 0; i < 3; ++i)
    if (!(fabs(pose->position_m[i]) < RF_POSE_FARTHEST))
      return rf_fail(err, RF_ERR_ARG, "position[%d] is %g, too far from the origin", i,
                     pose->position_m[i]);
  const double *a = pose->quaternion;
  return rf_fail(err, RF_ERR_ARG,
                 "quaternion (%g, %g, %g, %g) has norm %.9g; it must be 1 to within %g "
                 "(order w, x, y, z): divide it by its norm",
                 a[0], a[1], a[2], a[3], rf_pose_norm_rt(pose), RF_POSE_TOLERANCE);
}
