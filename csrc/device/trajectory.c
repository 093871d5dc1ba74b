#include "device/trajectory.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

rf_status rf_trajectory_create(int64_t n, const double *time_s, const double *positions,
                               const double *quaternions, const uint32_t *buttons,
                               rf_trajectory **out, rf_error *err) {
  rf_trajectory *t = NULL;
  rf_status st = RF_OK;
  if (n < 1) return rf_fail(err, RF_ERR_ARG, "a trajectory needs at least one pose");
  RF_ALLOC(t, 1);
  t->n = n;
  RF_ALLOC(t->time_s, n);
  RF_ALLOC(t->pose, n);
  RF_ALLOC(t->buttons, n);
  for (int64_t k = 0; k < n; ++k) {
    rf_pose *pose = &t->pose[k];
    rf_error why = {0};
    if (!(isfinite(time_s[k]) && (k == 0 || time_s[k] > time_s[k - 1]))) {
      st = rf_fail(err, RF_ERR_ARG, "times[%lld] is %g: times must be finite and ascend",
                   (long long)k, time_s[k]);
      goto done;
    }
    t->time_s[k] = time_s[k];
    memcpy(pose->position_m, positions + 3 * k, sizeof pose->position_m);
    memcpy(pose->quaternion, quaternions + 4 * k, sizeof pose->quaternion);
    if (rf_pose_check(pose, &why) < 0) {
      st = rf_fail(err, RF_ERR_ARG, "pose %lld: %.400s", (long long)k, why.text);
      goto done;
    }
    const double norm = rf_pose_norm_rt(pose);
    for (int i = 0; i < 4; ++i) pose->quaternion[i] /= norm;
    t->buttons[k] = buttons ? buttons[k] : 0;
  }
  *out = t;
  t = NULL;
done:
  rf_trajectory_free(t);
  return st;
}

void rf_trajectory_free(rf_trajectory *t) {
  if (!t) return;
  rf_free(t->time_s);
  rf_free(t->pose);
  rf_free(t->buttons);
  rf_free(t);
}
