#include "device/mouse.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static void mouse_open(void *self) {
  rf_mouse *m = self;
  rf_mouse_target old;
  size_t bytes;
  // targets of an earlier session are old
  m->number = rf_broadcast_read_rt(&m->sent, &old, &bytes);
  m->begun = false;
  m->hold = 0;
  m->quiet_s = 0.0;
  memset(&m->newest, 0, sizeof m->newest);
}

static void mouse_free(void *self) {
  rf_mouse *m = self;
  for (int k = 0; k < 2; ++k) rf_free(m->memory[k]);
  rf_free(m);
}

static const rf_intent_table pointed = {
    .name = "mouse", .open = mouse_open, .at_rt = rf_mouse_intended_rt, .release = mouse_free};

static rf_status check(double value, const char *name, rf_error *err) {
  if (!(isfinite(value) && value > 0.0))
    return rf_fail(err, RF_ERR_ARG, "%s must be finite and positive, got %g", name, value);
  return RF_OK;
}

// Returns a critically damped oscillator.
static rf_oscillator damped(double mass, double stiffness) {
  return (rf_oscillator){mass, 2.0 * sqrt(mass) * sqrt(stiffness), stiffness};
}

rf_status rf_mouse_create(const rf_mouse_settings *set, rf_device **out, rf_error *err) {
  rf_mouse *m = NULL;
  rf_status st = check(set->mass_kg, "mass", err);
  if (st < 0) goto done;
  RF_TRY(check(set->stiffness_n_per_m, "stiffness", err));
  RF_TRY(check(set->inertia_kg_m2, "inertia", err));
  RF_TRY(check(set->stiffness_nm, "torsional_stiffness", err));
  RF_TRY(check(set->speed_m_s, "speed", err));
  RF_TRY(check(set->turn_rad_s, "turn", err));
  const rf_hand_settings hand = {.position = damped(set->mass_kg, set->stiffness_n_per_m),
                                 .rotation = damped(set->inertia_kg_m2, set->stiffness_nm),
                                 .max_force_n = set->max_force_n,
                                 .max_torque_nm = set->max_torque_nm};
  RF_ALLOC(m, 1);
  m->speed_m_s = set->speed_m_s;
  m->turn_rad_s = set->turn_rad_s;
  const size_t bytes[2] = {sizeof(rf_mouse_target), sizeof(rf_mouse_state)};
  rf_broadcast *const both[2] = {&m->sent, &m->shown};
  for (int k = 0; k < 2; ++k) {
    RF_ALLOC(m->memory[k], rf_broadcast_bytes_rt(bytes[k]) / sizeof **m->memory);
    rf_broadcast_begin_rt(both[k], bytes[k], m->memory[k]);
  }
  const rf_intent intent = {&pointed, m};
  m = NULL;
  st = rf_hand_create(&hand, intent, out, err);
done:
  if (m) mouse_free(m);
  return st;
}

static rf_mouse *mouse_of(const rf_device *device) {
  const rf_intent intent = rf_hand_intent(device);
  return intent.table == &pointed ? intent.self : NULL;
}

rf_status rf_mouse_send(const rf_device *device, const rf_mouse_target *target, rf_error *err) {
  rf_mouse *m = mouse_of(device);
  rf_pose pose;
  if (!m) return rf_fail(err, RF_ERR_ARG, "the device is not a MouseDevice");
  memcpy(pose.position_m, target->displacement_m, sizeof pose.position_m);
  memcpy(pose.quaternion, target->turn, sizeof pose.quaternion);
  const rf_status st = rf_pose_check(&pose, err);
  if (st >= 0) rf_broadcast_write_rt(&m->sent, target, sizeof *target);
  return st;
}

bool rf_mouse_read_state(const rf_device *device, rf_mouse_state *out) {
  const rf_mouse *m = mouse_of(device);
  size_t bytes;
  if (!m) return false;
  const uint64_t number = rf_broadcast_read_rt(&m->shown, out, &bytes);
  return number != 0 && number != RF_BROADCAST_LOST;
}
