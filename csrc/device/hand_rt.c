#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "device/hand.h"
#include "linalg/quat.h"
#include "linalg/vec3.h"

// Advances x and v by the time h under a constant force: m x'' + b x' + k x = F, exactly.
static void swing(const rf_oscillator *o, double h, double force, double *x, double *v) {
  const double m = o->mass, a = 0.5 * o->damping / m, w2 = o->stiffness / m;
  if (w2 == 0.0) {
    // without a spring it drifts towards the velocity F / b
    const double c = 2.0 * a, decay = exp(-c * h);
    const double fade = c * h > 1e-6 ? -expm1(-c * h) / c : h * (1.0 - 0.5 * c * h);
    const double push = force / m;
    const double lost = c * h > 1e-4 ? (h - fade) / c : 0.5 * h * h * (1.0 - c * h / 3.0);
    *x += *v * fade + push * lost;
    *v = *v * decay + push * fade;
    return;
  }
  // about rest, x = C x0 + S (v0 + a x0), with exp(-a h) times the functions of sqrt(a^2 - w2)
  const double rest = force / o->stiffness, x0 = *x - rest, v0 = *v;
  const double d2 = a * a - w2, d = sqrt(fabs(d2)), decay = exp(-a * h);
  double c, s;
  if (d * h < 1e-4) {
    c = decay * (1.0 + 0.5 * d2 * h * h);
    s = decay * h * (1.0 + d2 * h * h / 6.0);
  } else if (d2 < 0.0) {
    c = decay * cos(d * h), s = decay * sin(d * h) / d;
  } else {
    // exponents combined: the separate growth factor could overflow while the decay vanishes
    const double slow = exp(-w2 / (a + d) * h), fast = exp(-(a + d) * h);
    c = 0.5 * (slow + fast), s = 0.5 * (slow - fast) / d;
  }
  *x = rest + c * x0 + s * (v0 + a * x0);
  *v = c * v0 - s * (a * v0 + w2 * x0);
}

// Computes the displacement and rotation of the intended pose.
static void lead(const rf_pose *from, const rf_pose *to, double way[6]) {
  rf_vec3_sub(to->position_m, from->position_m, way);
  rf_quat_rotation_between(from->quaternion, to->quaternion, way + 3);
}

rf_status rf_hand_read_rt(void *self, double time_s, rf_device_sample *out) {
  rf_hand *h = self;
  rf_pose intended;
  double velocity[6], led[6], step[4], turned[4];
  out->buttons = rf_trajectory_at_rt(h->intended, time_s, &intended, velocity);
  const double dt = time_s - h->last_s;
  if (h->begun && dt > 0.0) {
    const bool halted = atomic_load_explicit(&h->halted, memory_order_relaxed) != 0;
    lead(&h->intended_then, &intended, led);
    for (int i = 0; i < 6; ++i) {
      const double force = halted ? 0.0 : i < 3 ? h->wrench.force_n[i] : h->wrench.torque_nm[i - 3];
      // relative to the intended pose, which moves at constant velocity in between
      double rate = h->velocity[i] - led[i] / dt;
      swing(i < 3 ? &h->set.position : &h->set.rotation, dt, force, &h->way[i], &rate);
      h->velocity[i] = rate + led[i] / dt;
    }
  }
  h->begun = true;
  h->last_s = time_s;
  h->intended_then = intended;
  out->pose = intended;
  for (int i = 0; i < 3; ++i) {
    out->pose.position_m[i] += h->way[i];
    out->velocity_m_s[i] = h->velocity[i];
    out->turn_rad_s[i] = h->velocity[i + 3];
  }
  rf_quat_of_rotation(h->way + 3, step);
  rf_quat_multiply(step, intended.quaternion, turned);
  rf_quat_normalize(turned, out->pose.quaternion);
  out->count = ++h->count;
  h->lost = !rf_pose_usable_rt(&out->pose);
  return h->lost ? RF_ERR_DEVICE : RF_OK;
}

rf_status rf_hand_write_rt(void *self, double time_s, const rf_device_wrench *wrench) {
  (void)time_s;
  ((rf_hand *)self)->wrench = *wrench;
  return RF_OK;
}
