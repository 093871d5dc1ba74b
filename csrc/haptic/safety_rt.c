#include <math.h>
#include <string.h>

#include "haptic/safety.h"
#include "linalg/vec3.h"

// shortest fade after a pause, a silence or a takeover, and longest of a force without an answer
static const double RESUME_S = 0.05;

uint32_t rf_safety_watch_rt(const rf_safety_settings *set, double elapsed_s,
                            const rf_device_sample *sample, rf_safety_state *state) {
  state->quiet_s = sample->count != state->count ? 0.0 : state->quiet_s + elapsed_s;
  state->count = sample->count;
  return state->quiet_s > set->silent_s ? RF_SAFETY_SILENT : 0;
}

void rf_safety_resume_rt(rf_safety_state *state) {
  state->ramp = 0.0;
  state->resumed = true;
}

void rf_safety_mute_rt(bool muted, rf_safety_state *state) {
  state->resumed = state->resumed || muted;
  state->muted = muted;
}

uint32_t rf_safety_pause_rt(rf_safety_state *state) {
  rf_safety_resume_rt(state);
  state->paused = true;
  return RF_SAFETY_PAUSED;
}

static bool finite(const rf_device_wrench *w) {
  bool good = true;
  for (int i = 0; i < 3; ++i) good = good && isfinite(w->force_n[i]) && isfinite(w->torque_nm[i]);
  return good;
}

// Shortens the step from `last` to `v` to the length `most`; returns true if it was longer.
static bool slow(const double last[3], double most, double v[3]) {
  double step[3];
  rf_vec3_sub(v, last, step);
  if (!rf_vec3_limit(step, most)) return false;
  for (int i = 0; i < 3; ++i) v[i] = last[i] + step[i];
  return true;
}

// Zeroes the wrench at once, regardless of slew rates: no later value can be trusted.
static uint32_t broken(rf_safety_state *state, rf_device_wrench *wanted) {
  memset(wanted, 0, sizeof *wanted);
  memset(&state->last, 0, sizeof state->last);
  state->enabled = false;
  state->ramp = 0.0;
  return RF_SAFETY_BROKEN;
}

static uint32_t clamp(const rf_safety_settings *set, rf_device_wrench *wanted) {
  const bool force = rf_vec3_limit(wanted->force_n, set->max_force_n);
  const bool torque = rf_vec3_limit(wanted->torque_nm, set->max_torque_nm);
  return force || torque ? RF_SAFETY_CLAMPED : 0;
}

uint32_t rf_safety_limit_rt(const rf_safety_settings *set, double dt_s, rf_safety_state *state,
                            rf_device_wrench *wanted) {
  uint32_t flags = 0;
  if (!finite(wanted)) return broken(state, wanted);
  // a silent device gets zero at once: it may be disconnected
  const bool cut = state->paused || !(state->quiet_s <= set->silent_s);
  const bool out = state->enabled && !state->muted && !cut;
  const double fade_s = out && state->resumed ? fmax(set->ramp_s, RESUME_S)
                        : state->muted        ? fmin(set->ramp_s, RESUME_S)
                                              : set->ramp_s;
  const double way = fade_s > 0.0 ? dt_s / fade_s : 1.0;
  state->paused = false;
  if (cut) rf_safety_resume_rt(state);
  state->ramp = out ? fmin(state->ramp + way, 1.0) : fmax(state->ramp - way, 0.0);
  if (state->ramp < 1.0)
    flags |= RF_SAFETY_FADING;
  else
    state->resumed = false;
  for (int i = 0; i < 3; ++i) {
    wanted->force_n[i] *= state->ramp;
    wanted->torque_nm[i] *= state->ramp;
  }
  flags |= clamp(set, wanted);
  if (!cut) {
    if (slow(state->last.force_n, dt_s * set->slew_n_per_s, wanted->force_n))
      flags |= RF_SAFETY_SLEWED;
    if (slow(state->last.torque_nm, dt_s * set->slew_nm_per_s, wanted->torque_nm))
      flags |= RF_SAFETY_SLEWED;
  }
  // the step between finite forces may have overflowed
  if (!finite(wanted)) return broken(state, wanted);
  state->last = *wanted;
  return flags;
}

uint32_t rf_safety_last_rt(const rf_safety_settings *set, rf_safety_state *state,
                           rf_device_wrench *wanted) {
  if (!finite(wanted)) return broken(state, wanted);
  return clamp(set, wanted);
}
