#include <string.h>

#include "linalg/quat.h"
#include "render/workspace.h"

static void conjugate(const double q[4], double out[4]) {
  out[0] = q[0];
  for (int i = 1; i < 4; ++i) out[i] = -q[i];
}

// Computes W Q W^-1.
static void turn_of_device(const double w[4], const double q[4], double out[4]) {
  double back[4], half[4];
  conjugate(w, back);
  rf_quat_multiply(w, q, half);
  rf_quat_multiply(half, back, out);
}

// Sets o, c and B so that the given device pose maps to the manipulandum of the state.
static void hold_here(const rf_workspace_settings *set, const rf_pose *device,
                      rf_workspace_state *state) {
  double turn[4], back[4];
  memcpy(state->origin_m, state->manipulandum.position_m, sizeof state->origin_m);
  memcpy(state->centre_m, device->position_m, sizeof state->centre_m);
  turn_of_device(set->alignment, device->quaternion, turn);
  conjugate(turn, back);
  rf_quat_multiply(back, state->manipulandum.quaternion, state->turn);
}

void rf_workspace_recentre_rt(const rf_pose *at, rf_workspace_state *state) {
  state->begun = false;
  state->manipulandum = *at;
}

void rf_workspace_map_rt(const rf_workspace_settings *set, const rf_pose *device, uint32_t buttons,
                         rf_workspace_state *state) {
  const bool clutch = (buttons & set->clutch_buttons) != 0;
  if (!state->begun && set->absolute) {
    memset(state, 0, sizeof *state);
    state->turn[0] = 1.0;
  } else if (!state->begun || clutch || state->held) {
    hold_here(set, device, state);
  }
  state->begun = true;
  state->held = clutch;
  double way[3], turn[4], whole[4];
  for (int i = 0; i < 3; ++i) way[i] = (device->position_m[i] - state->centre_m[i]) / set->scale;
  rf_quat_rotate(set->alignment, way, way);
  for (int i = 0; i < 3; ++i) state->manipulandum.position_m[i] = state->origin_m[i] + way[i];
  turn_of_device(set->alignment, device->quaternion, turn);
  rf_quat_multiply(turn, state->turn, whole);
  rf_quat_normalize(whole, state->manipulandum.quaternion);
}

void rf_workspace_render_rt(const rf_workspace_settings *set, const double force_n[3],
                            const double torque_nm[3], double device_force_n[3],
                            double device_torque_nm[3]) {
  rf_quat_rotate_back(set->alignment, force_n, device_force_n);
  rf_quat_rotate_back(set->alignment, torque_nm, device_torque_nm);
  for (int i = 0; i < 3; ++i) {
    device_force_n[i] *= set->force_scale;
    device_torque_nm[i] *= set->force_scale;
  }
}
