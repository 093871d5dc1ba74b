#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "device/hand.h"
#include "linalg/quat.h"
#include "linalg/vec3.h"

// Computes the displacement and rotation of the intended pose.
static void lead(const rf_pose *from, const rf_pose *to, double way[6]) {
  rf_vec3_sub(to->position_m, from->position_m, way);
  rf_quat_rotation_between(from->quaternion, to->quaternion, way + 3);
}

rf_status rf_hand_read_rt(void *self, double time_s, rf_device_sample *out) {
  rf_hand *h = self;
  rf_intended now;
  double led[6], step[4], turned[4];
  h->intent.table->at_rt(h->intent.self, time_s, &h->handle, &now);
  out->buttons = now.buttons;
  const double dt = time_s - h->last_s;
  if (now.at_rest) {
    memset(h->way, 0, sizeof h->way);
    memset(h->velocity, 0, sizeof h->velocity);
  } else if (h->begun && dt > 0.0) {
    const bool halted = atomic_load_explicit(&h->halted, memory_order_relaxed) != 0;
    lead(&h->intended_then, &now.pose, led);
    for (int i = 0; i < 6; ++i) {
      const double force = halted ? 0.0 : i < 3 ? h->wrench.force_n[i] : h->wrench.torque_nm[i - 3];
      // relative to the intended pose, which moves at constant velocity in between
      double rate = h->velocity[i] - led[i] / dt;
      rf_oscillator_step_rt(i < 3 ? &h->set.position : &h->set.rotation, dt, force, &h->way[i],
                            &rate);
      h->velocity[i] = rate + led[i] / dt;
    }
  }
  h->begun = true;
  h->last_s = time_s;
  h->intended_then = out->pose = now.pose;
  for (int i = 0; i < 3; ++i) {
    out->pose.position_m[i] += h->way[i];
    out->velocity_m_s[i] = h->velocity[i];
    out->turn_rad_s[i] = h->velocity[i + 3];
  }
  rf_quat_of_rotation(h->way + 3, step);
  rf_quat_multiply(step, now.pose.quaternion, turned);
  rf_quat_normalize(turned, out->pose.quaternion);
  h->handle = out->pose;
  h->count += now.fresh;
  out->count = h->count;
  h->lost = !rf_pose_usable_rt(&out->pose);
  return h->lost ? RF_ERR_DEVICE : RF_OK;
}

rf_status rf_hand_write_rt(void *self, double time_s, const rf_device_wrench *wrench) {
  (void)time_s;
  ((rf_hand *)self)->wrench = *wrench;
  return RF_OK;
}
