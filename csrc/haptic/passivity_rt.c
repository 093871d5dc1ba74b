#include <float.h>
#include <math.h>

#include "haptic/passivity.h"
#include "linalg/quat.h"
#include "linalg/vec3.h"

// shortest time in which the remaining energy may be given; time constant of the recovery
static const double SPEND_S = 0.02, RECOVER_S = 0.3;

// Adds a damper on the motion of the last cycle, continued; returns the energy that it takes, at
// most `energy`.
static double damp(double energy, double most, double dt_s, const double move[3], double out[3]) {
  const double square = rf_vec3_dot(move, move);
  if (!(square > DBL_MIN && energy > 0.0)) return 0.0;
  // a force -c move / dt over the same motion again takes c |move|^2 / dt
  const double c = fmin(energy * dt_s / square, most);
  for (int i = 0; i < 3; ++i) out[i] -= c * move[i] / dt_s;
  return c * square / dt_s;
}

// Returns the part of `less` that is removed in a cycle.  Of a wrench w that slews by up to s, the
// part g = 1 - less is sent: its steps are at most g s + |w| dg, within s for dg <= less s / |w|.
static double recovery(const rf_safety_settings *rates, double dt_s,
                       const rf_device_wrench *wrench) {
  const double force = rf_vec3_length(wrench->force_n), torque = rf_vec3_length(wrench->torque_nm);
  double part = fmin(dt_s / RECOVER_S, 1.0);
  if (force > 0.0) part = fmin(part, dt_s * rates->slew_n_per_s / force);
  if (torque > 0.0) part = fmin(part, dt_s * rates->slew_nm_per_s / torque);
  return part;
}

static void control(const rf_passivity_settings *set, const rf_safety_settings *rates, double dt_s,
                    double share, const double move[3], const double turn[3],
                    rf_passivity_state *state, rf_device_wrench *wrench) {
  const double left = 0.5 * set->allowance_j - state->energy_j;
  const double may = fmax(left, 0.0) * fmin(dt_s / SPEND_S, 1.0);
  const double would = rf_vec3_dot(wrench->force_n, move) + rf_vec3_dot(wrench->torque_nm, turn);
  // reduce at once, recover slowly: otherwise forces would oscillate with each turn of the motion
  state->less += recovery(rates, dt_s, wrench) * (0.0 - state->less);
  if (would > may) state->less = fmax(state->less, 1.0 - may / would);
  for (int i = 0; i < 3; ++i) {
    wrench->force_n[i] *= 1.0 - state->less;
    wrench->torque_nm[i] *= 1.0 - state->less;
  }
  if (would > 0.0) state->taken_j += state->less * would;
  if (left < 0.0) {
    const double linear = share * set->max_damping_n_s_per_m,
                 angular = share * set->max_damping_nm_s;
    const double damped = damp(-left, linear, dt_s, move, wrench->force_n);
    const double rest = damp(-left - damped, angular, dt_s, turn, wrench->torque_nm);
    state->taken_j += damped + rest;
  }
}

void rf_passivity_step_rt(const rf_passivity_settings *set, const rf_safety_settings *rates,
                          double dt_s, double elapsed_s, double share, const rf_pose *pose,
                          rf_passivity_state *state, rf_device_wrench *wrench) {
  double move[3], turn[3];
  if (state->begun) {
    rf_vec3_sub(pose->position_m, state->last_pose.position_m, move);
    rf_quat_rotation_between(state->last_pose.quaternion, pose->quaternion, turn);
    state->energy_j +=
        rf_vec3_dot(state->last.force_n, move) + rf_vec3_dot(state->last.torque_nm, turn);
    if (state->energy_j > state->most_j) state->most_j = state->energy_j;
    // motion of one cycle at that velocity
    for (int i = 0; i < 3; ++i) {
      move[i] *= dt_s / elapsed_s;
      turn[i] *= dt_s / elapsed_s;
    }
    if (set->control) control(set, rates, dt_s, share, move, turn, state, wrench);
  }
  state->begun = true;
  state->last_pose = *pose;
}

void rf_passivity_hold_rt(const rf_device_wrench *wrench, rf_passivity_state *state) {
  state->last = *wrench;
}
