#include "device/mouse.h"

#include <string.h>

#include "linalg/quat.h"
#include "linalg/vec3.h"

// Reads the newest target; returns true if it is a new one.
static bool hear(rf_mouse *m, double elapsed_s) {
  rf_mouse_target target;
  size_t bytes;
  const uint64_t number = rf_broadcast_read_rt(&m->sent, &target, &bytes);
  const bool fresh = number != m->number && number != RF_BROADCAST_LOST;
  m->quiet_s = fresh ? 0.0 : m->quiet_s + elapsed_s;
  if (!fresh) return false;
  m->number = number;
  m->newest = target;
  return target.hold != 0;
}

static void turn_by(const double turn[4], const double q[4], double out[4]) {
  double turned[4];
  rf_quat_multiply(turn, q, turned);
  rf_quat_normalize(turned, out);
}

// Sets the base such that the present target is the present pose of the handle.
static void begin(rf_mouse *m, const rf_pose *handle) {
  const rf_mouse_target *to = &m->newest;
  const double back[4] = {to->turn[0], -to->turn[1], -to->turn[2], -to->turn[3]};
  m->hold = to->hold;
  rf_vec3_sub(handle->position_m, to->displacement_m, m->base.position_m);
  turn_by(back, handle->quaternion, m->base.quaternion);
}

// Moves the intended pose towards the target.
static void follow(rf_mouse *m, double dt, const rf_pose *target) {
  static const rf_oscillator critical = {1.0, 2.0 * RF_MOUSE_FOLLOW_PER_S,
                                         RF_MOUSE_FOLLOW_PER_S * RF_MOUSE_FOLLOW_PER_S};
  double way[6], before[6], step[4];
  rf_vec3_sub(m->follow.position_m, target->position_m, way);
  rf_quat_rotation_between(target->quaternion, m->follow.quaternion, way + 3);
  memcpy(before, way, sizeof before);
  for (int i = 0; i < 6; ++i) rf_oscillator_step_rt(&critical, dt, 0.0, &way[i], &m->velocity[i]);
  for (int i = 0; i < 6; ++i) way[i] -= before[i];
  (void)rf_vec3_limit(way, dt * m->speed_m_s);
  (void)rf_vec3_limit(way + 3, dt * m->turn_rad_s);
  (void)rf_vec3_limit(m->velocity, m->speed_m_s);
  (void)rf_vec3_limit(m->velocity + 3, m->turn_rad_s);
  for (int i = 0; i < 3; ++i) m->follow.position_m[i] += way[i];
  rf_quat_of_rotation(way + 3, step);
  turn_by(step, m->follow.quaternion, m->follow.quaternion);
}

void rf_mouse_intended_rt(void *self, double time_s, const rf_pose *handle, rf_intended *out) {
  rf_mouse *m = self;
  const double dt = m->begun && time_s > m->last_s ? time_s - m->last_s : 0.0;
  m->begun = true;
  m->last_s = time_s;
  out->fresh = hear(m, dt);
  const bool held = m->newest.hold != 0 && m->quiet_s <= RF_MOUSE_SILENT_S;
  const bool begins = held && m->newest.hold != m->hold;
  if (begins) begin(m, handle);
  out->at_rest = begins || !held;
  rf_pose target = *handle;
  if (out->at_rest) {
    m->follow = *handle;
    memset(m->velocity, 0, sizeof m->velocity);
  } else {
    for (int i = 0; i < 3; ++i)
      target.position_m[i] = m->base.position_m[i] + m->newest.displacement_m[i];
    turn_by(m->newest.turn, m->base.quaternion, target.quaternion);
    if (dt > 0.0) follow(m, dt, &target);
  }
  out->pose = m->follow;
  out->buttons = held ? (uint32_t)m->newest.buttons : 0;
  rf_mouse_state state = {.held = held};
  memcpy(state.target_m, target.position_m, sizeof state.target_m);
  memcpy(state.handle_m, handle->position_m, sizeof state.handle_m);
  rf_broadcast_write_rt(&m->shown, &state, sizeof state);
}
