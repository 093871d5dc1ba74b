#include "device/intent.h"

void rf_trajectory_intended_rt(void *self, double time_s, const rf_pose *handle, rf_intended *out) {
  double velocity[6];
  (void)handle;
  out->buttons = rf_trajectory_at_rt(self, time_s, &out->pose, velocity);
  out->fresh = true;
  out->at_rest = false;
}
