#include <math.h>
#include <string.h>

#include "base/clock_rt.h"
#include "haptic/tick_state.h"
#include "linalg/quat.h"

// Forgetting rate of the running estimate of non-contact time (about 1000 cycles).
static const double FORGET = 1e-3;
// Largest growth of that estimate in a cycle, from at least SHORTEST_US: limits the effect of
// pauses.
static const double PAUSE = 2.0, SHORTEST_US = 1.0;

void rf_tick_begin_rt(rf_tick *t) {
  t->last_s = t->limited_us = -1.0;
  // as after a clutch: the object stays where it was left, the hand may have moved
  if (t->workspace.begun) {
    t->workspace.manipulandum = t->coupling.coupling.object;
    t->workspace.held = true;
    memset(t->coupling.velocity, 0, sizeof t->coupling.velocity);
  }
  memset(&t->safety, 0, sizeof t->safety);
  t->safety.enabled = true;
  memset(&t->passivity.last, 0, sizeof t->passivity.last);
  t->passivity.begun = false;
}

// Continues with another hand, at any pose, as with a device that has just been opened.
static void take_over(rf_tick *t) {
  const bool enabled = t->safety.enabled;
  rf_tick_begin_rt(t);
  t->safety.enabled = enabled;
  rf_safety_resume_rt(&t->safety);
}

void rf_tick_pace_rt(rf_tick *t, double pause_s) { t->pause_us = 1e6 * pause_s; }

void rf_tick_enable_rt(rf_tick *t, bool enabled) { t->safety.enabled = enabled; }

void rf_tick_limit_rt(rf_tick *t, double max_force_n, double max_torque_nm) {
  rf_safety_settings *set = &t->set.safety;
  if (max_force_n < set->max_force_n) set->max_force_n = max_force_n;
  if (max_torque_nm < set->max_torque_nm) set->max_torque_nm = max_torque_nm;
}

bool rf_tick_faded_rt(const rf_tick *t) { return !t->safety.enabled && t->safety.ramp == 0.0; }

void rf_tick_recentre_rt(rf_tick *t) {
  const rf_pose *start = &t->set.workspace.start;
  rf_workspace_recentre_rt(start, &t->workspace);
  memset(&t->coupling, 0, sizeof t->coupling);
  t->coupling.coupling.object = *start;
  t->coupling.coupling.share = 1.0;
  memset(&t->hold, 0, sizeof t->hold);
  t->safety.ramp = 0.0;  // the object may be in contact there
}

static const rf_coupling_settings *springs_of(const rf_tick_settings *set) {
  return set->dynamic ? &set->dynamics.spring : &set->coupling;
}

void rf_tick_set_coupling_rt(rf_tick *t, const rf_tick_settings *set) {
  // velocities of the last dynamic cycle are stale
  if (!t->set.dynamic) memset(t->coupling.velocity, 0, sizeof t->coupling.velocity);
  // a stiffer coupling fades in from the force of the old one
  const rf_coupling_settings *old = springs_of(&t->set), *new = springs_of(set);
  t->safety.ramp *=
      fmin(fmin(old->stiffness_n_per_m / new->stiffness_n_per_m, old->torsion_nm / new->torsion_nm),
           1.0);
  t->set.dynamic = set->dynamic;
  t->set.coupling = set->coupling;
  t->set.dynamics = set->dynamics;
  for (int32_t k = 0; t->set.suited && k < t->n_parts; ++k)
    rf_penalty_suit_coupling_rt(t->part[k].penalty, new->stiffness_n_per_m);
}

// Returns the pose of the field object from that of its grasp frame.
static rf_pose frame_of(const double grasp[3], const rf_pose *held) {
  rf_pose pose = *held;
  double arm[3];
  rf_quat_rotate(held->quaternion, grasp, arm);
  for (int i = 0; i < 3; ++i) pose.position_m[i] -= arm[i];
  return pose;
}

static double most_depth(const rf_tick *t) {
  return t->set.dynamic ? t->set.dynamics.spring.max_depth_m : t->set.coupling.max_depth_m;
}

// Evaluates the forces of all contacts on the held object; `processor_us`: processor time of the
// thread at the beginning of the cycle.
static rf_status touch(rf_tick *t, double processor_us, rf_coupling_load *load,
                       rf_tick_record *out) {
  const rf_pose pose = frame_of(t->grasp_m, &t->coupling.coupling.object);
  memset(load, 0, sizeof *load);
  load->clearance_m = INFINITY;
  const bool bounded = isfinite(most_depth(t));
  out->level = INT32_MAX;
  if (t->field) memset(t->field_sum, 0, (size_t)t->field->n * sizeof *t->field_sum);
  for (int32_t k = 0; k < t->n_parts; ++k) {
    rf_tick_part *part = &t->part[k];
    rf_penalty_result found;
    rf_penalty_ask_clearance_rt(part->penalty, bounded);
    if (t->set.budget_us > 0.0) {
      // Equal parts of the remaining budget, in processor time: a pause of the machine in the first
      // contact must not starve the others, whose forces would jump for one cycle.
      const double spent_us = k > 0 ? rf_processor_us_rt() - processor_us : 0.0;
      const double left = t->set.budget_us - t->rest_us - spent_us;
      rf_penalty_set_budget_rt(part->penalty, fmax(left / (t->n_parts - k), 1.0));
    }
    if (t->field) {
      const rf_status st = rf_penalty_deform_field_rt(part->penalty, t->field->q);
      if (st < 0) return st;
    }
    const rf_status st =
        rf_penalty_evaluate_rt(part->penalty, &pose, part->shell ? part->shell->q : NULL, -1,
                               &found, part->reduced, t->field ? t->field_reduced : NULL,
                               t->coupled ? rf_coupled_blocks_rt(t->coupled, k) : NULL);
    if (st < 0) return st;
    for (int i = 0; i < 3; ++i) {
      load->force_n[i] += found.force_n[i];
      load->torque_nm[i] += found.torque_nm[i];
    }
    for (int i = 0; i < 36; ++i) load->gradient[i] += found.gradient[i];
    for (int32_t j = 0; t->field && j < t->field->n; ++j) t->field_sum[j] += t->field_reduced[j];
    load->depth_m = fmax(load->depth_m, found.depth_m);
    load->clearance_m = fmin(load->clearance_m, found.clearance_m);
    out->visited += found.visited;
    out->touching += found.touching;
    if (found.level < out->level) out->level = found.level;
  }
  for (int i = 0; i < 3; ++i) {
    out->contact_force[i] = load->force_n[i];
    out->contact_torque[i] = load->torque_nm[i];
  }
  out->depth_m = load->depth_m;
  return RF_OK;
}

// Computes the velocity of the manipulandum between two cycles.
static void velocity_of(const rf_pose *from, const rf_pose *to, double dt_s, double out[6]) {
  rf_quat_rotation_between(from->quaternion, to->quaternion, out + 3);
  for (int i = 0; i < 3; ++i) {
    out[i] = (to->position_m[i] - from->position_m[i]) / dt_s;
    out[i + 3] /= dt_s;
  }
}

static rf_status couple(rf_tick *t, const rf_pose *before, double elapsed_s,
                        const rf_coupling_load *load, rf_coupling_report *report) {
  const rf_pose *hand = &t->workspace.manipulandum;
  const rf_pose start = t->coupling.coupling.object;
  const rf_coupling_settings *set = &t->set.coupling;
  double *moving = NULL, velocity[6];
  rf_status st;
  if (t->set.dynamic) {
    set = &t->set.dynamics.spring;
    moving = t->coupling.velocity;
    velocity_of(before, hand, elapsed_s, velocity);
    st = rf_dynamic_step_rt(&t->set.dynamics, hand, velocity, load, &t->coupling, report);
  } else {
    st = rf_coupling_step_rt(set, hand, load, &t->coupling.coupling, report);
  }
  if (st >= 0) rf_hold_rt(set, hand, &start, load, &t->hold, &t->coupling.coupling, moving, report);
  return st;
}

// Sets `together` if the cycle is coupled: `load` then includes the responses of all bodies.
static rf_status condense(rf_tick *t, bool again, const rf_pose *before, rf_coupling_load *load,
                          bool *together, rf_tick_record *out) {
  *together = false;
  if (!t->coupled) return RF_OK;
  double *forces[RF_TICK_MOST_CONTACTS];
  for (int32_t k = 0; k < t->n_parts; ++k) forces[k] = t->part[k].reduced;
  velocity_of(before, &t->workspace.manipulandum, 1.0, load->led);
  const rf_status st = rf_coupled_condense_rt(t->coupled, again, forces, t->field_sum, load);
  *together = st >= 0;
  if (st != RF_ERR_SINGULAR) return st;
  out->flags |= RF_TICK_SPLIT;
  return RF_OK;
}

// Returns true if the force of contact after the motion would hold back a hand that leaves.  It may
// hold back a hand at rest, which damps light bodies that bounce.
static bool pulls(const rf_coupling_load *before, const rf_coupling_load *load,
                  const double move[6]) {
  double along = 0.0;
  for (int i = 0; i < 3; ++i) {
    double after = load->force_n[i];
    for (int j = 0; j < 6; ++j) after += load->gradient[6 * i + j] * move[j];
    along += after * before->force_n[i];
  }
  return along < 0.0 && rf_vec3_dot(load->led, before->force_n) > 0.0;
}

// Moves the object in a cycle; in a coupled one by the condensed load, solved again if it pulls.
static rf_status move(rf_tick *t, const rf_pose *before, double elapsed_s,
                      const rf_coupling_load *contact, bool *together, rf_coupling_report *report,
                      rf_tick_record *out) {
  const rf_dynamic_state coupling = t->coupling;
  const rf_hold hold = t->hold;
  rf_coupling_load load = *contact;
  rf_status st = condense(t, false, before, &load, together, out);
  if (st >= 0) st = couple(t, before, elapsed_s, &load, report);
  if (st < 0 || !*together || !pulls(contact, &load, report->move)) return st;
  t->coupling = coupling;
  t->hold = hold;
  load = *contact;
  st = condense(t, true, before, &load, together, out);
  return st < 0 ? st : couple(t, before, elapsed_s, &load, report);
}

static rf_status deform(rf_tick *t) {
  for (int32_t k = 0; k < t->n_parts; ++k) {
    rf_tick_part *part = &t->part[k];
    if (!part->shell) continue;
    const rf_status st = rf_motion_step_rt(part->shell, part->reduced, part->steps);
    if (st < 0) return st;
  }
  if (t->field) return rf_motion_step_rt(t->field, t->field_sum, t->field_steps);
  return RF_OK;
}

// Returns how many increments of all bodies were shortened so far.
static int64_t shortened(const rf_tick *t) {
  int64_t sum = t->field ? t->field->report.shortened : 0;
  for (int32_t k = 0; k < t->n_parts; ++k)
    if (t->part[k].shell) sum += t->part[k].shell->report.shortened;
  return sum;
}

static bool saturated(const rf_coupling_report *report, double share) {
  static const double WHOLE = 1.0 - 1e-9;
  const rf_coupling_wrench *w = &report->wrench;
  return share < WHOLE || rf_vec3_length(w->force_n) < WHOLE * rf_vec3_length(w->linear_force_n) ||
         rf_vec3_length(w->torque_nm) < WHOLE * rf_vec3_length(w->linear_torque_nm);
}

static void put_pose(const rf_pose *pose, double position[3], double quaternion[4]) {
  memcpy(position, pose->position_m, sizeof pose->position_m);
  memcpy(quaternion, pose->quaternion, sizeof pose->quaternion);
}

// Ends a failed cycle: disables output and sends zero.
static rf_status fail(rf_tick *t, const rf_device *device, double time_s, rf_status st,
                      uint32_t flag, rf_tick_record *out) {
  rf_device_wrench zero;
  memset(&zero, 0, sizeof zero);
  t->safety.enabled = false;
  t->safety.ramp = 0.0;
  t->safety.last = zero;
  out->flags |= flag;
  memset(out->force, 0, sizeof out->force);
  memset(out->torque, 0, sizeof out->torque);
  out->energy_j = t->passivity.energy_j;
  const rf_status written = device->table->write_rt(device->self, time_s, &zero);
  return written < 0 && st >= 0 ? written : st;
}

// Detects a pause of the process or the machine since the last call; called once a cycle.
static uint32_t watch_clock(rf_tick *t) {
  const double now_us = rf_clock_us_rt();
  const bool paused = t->limited_us >= 0.0 && now_us - t->limited_us > t->pause_us;
  t->limited_us = now_us;
  return paused ? rf_safety_pause_rt(&t->safety) : 0;
}

rf_status rf_tick_run_rt(rf_tick *t, const rf_device *device, double time_s, rf_tick_record *out) {
  rf_device_sample sample = {.count = 0};
  rf_coupling_load load;
  rf_coupling_report report;
  rf_device_wrench wrench;
  memset(out, 0, sizeof *out);
  out->tick = t->ticks++;
  out->time_s = time_s;

  const double before_us = rf_clock_us_rt();
  rf_status st = device->table->read_rt(device->self, time_s, &sample);
  const double read_us = rf_clock_us_rt(), processor_us = rf_processor_us_rt();
  const double start_us = rf_clock_us_rt();
  if (st < 0 || !rf_pose_usable_rt(&sample.pose))
    return fail(t, device, time_s, RF_ERR_DEVICE, RF_TICK_DEVICE_FAILED, out);
  if (sample.other) take_over(t);
  put_pose(&sample.pose, out->device_position, out->device_quaternion);
  out->buttons = sample.buttons;
  // cycles may have been skipped since the last sample
  const bool follows = t->last_s >= 0.0 && time_s > t->last_s;
  const double elapsed_s = follows ? time_s - t->last_s : t->set.dt_s;
  t->last_s = time_s;
  out->flags = rf_safety_watch_rt(&t->set.safety, elapsed_s, &sample, &t->safety);

  const bool first = !t->workspace.begun;
  rf_pose before = t->workspace.manipulandum;
  rf_workspace_map_rt(&t->set.workspace, &sample.pose, sample.buttons, &t->workspace);
  // the first sample puts the object at the hand: no force
  if (first) {
    before = t->coupling.coupling.object = t->workspace.manipulandum;
    t->hold.begun = false;
  }
  if (t->workspace.held) out->flags |= RF_TICK_CLUTCHED;
  st = touch(t, processor_us, &load, out);
  const double touched_us = rf_clock_us_rt();
  if (st >= 0 && load.depth_m > most_depth(t)) out->flags |= RF_TICK_TOO_DEEP;
  bool together = false;
  if (st >= 0) st = move(t, &before, elapsed_s, &load, &together, &report, out);
  if (st < 0) return fail(t, device, time_s, RF_ERR_DIVERGED, RF_TICK_DIVERGED, out);
  out->rank = report.rank;
  out->share = t->coupling.coupling.share;
  if (report.limited) out->flags |= RF_TICK_LIMITED;
  if (saturated(&report, out->share)) out->flags |= RF_TICK_SATURATED;
  put_pose(&t->workspace.manipulandum, out->hand_position, out->hand_quaternion);
  put_pose(&t->coupling.coupling.object, out->object_position, out->object_quaternion);

  // the hand gets the opposite of the force on the object, without saturation (4.9) or with it
  const rf_coupling_wrench *w = &report.wrench;
  double force[3], torque[3];
  for (int i = 0; i < 3; ++i) {
    force[i] = t->set.saturated ? -out->share * w->force_n[i] : -w->linear_force_n[i];
    torque[i] = t->set.saturated ? -out->share * w->torque_nm[i] : -w->linear_torque_nm[i];
  }
  rf_workspace_render_rt(&t->set.workspace, force, torque, wrench.force_n, wrench.torque_nm);
  const rf_safety_settings *limits = &t->set.safety;
  out->flags |= watch_clock(t);
  out->flags |= rf_safety_limit_rt(limits, t->set.dt_s, &t->safety, &wrench);
  rf_passivity_step_rt(&t->set.passivity, limits, t->set.dt_s, elapsed_s, t->safety.ramp,
                       &sample.pose, &t->passivity, &wrench);
  out->flags |= rf_safety_last_rt(limits, &t->safety, &wrench);
  rf_passivity_hold_rt(&wrench, &t->passivity);
  out->energy_j = t->passivity.energy_j;
  memcpy(out->force, wrench.force_n, sizeof wrench.force_n);
  memcpy(out->torque, wrench.torque_nm, sizeof wrench.torque_nm);
  const double coupled_us = rf_clock_us_rt();
  st = device->table->write_rt(device->self, time_s, &wrench);
  const double written_us = rf_clock_us_rt();
  if (st < 0) return fail(t, device, time_s, RF_ERR_DEVICE, RF_TICK_DEVICE_FAILED, out);
  if (out->flags & RF_SAFETY_BROKEN) return RF_ERR_DIVERGED;

  const int64_t shortened_before = shortened(t);
  st = together && t->coupled ? rf_coupled_finish_rt(t->coupled, report.move) : deform(t);
  if (shortened(t) > shortened_before) out->flags |= RF_TICK_SHORTENED;
  // after the force is sent, to shorten the next cycle up to its force
  if (st >= 0 && t->coupled) rf_coupled_prepare_rt(t->coupled);
  const double end_us = rf_clock_us_rt(), processed_us = rf_processor_us_rt() - processor_us;
  if (st < 0) return fail(t, device, time_s, RF_ERR_DIVERGED, RF_TICK_DIVERGED, out);
  out->device_us = (read_us - before_us) + (written_us - coupled_us);
  out->contact_us = touched_us - start_us;
  out->coupling_us = coupled_us - touched_us;
  out->deform_us = end_us - written_us;
  out->compute_us = out->contact_us + out->coupling_us + out->deform_us;
  out->processor_us = fmin(processed_us, out->compute_us);
  // A pause of the machine is limited in the estimate, or it would starve the contact of the next
  // thousand cycles.  Cycles that really take longer raise it within a few.
  const double rest =
      fmin(out->coupling_us + out->deform_us, PAUSE * fmax(t->rest_us, SHORTEST_US));
  t->rest_us = rest > t->rest_us ? rest : t->rest_us + FORGET * (rest - t->rest_us);
  return RF_OK;
}

static size_t put_coordinates(const rf_motion *s, char *out) {
  const size_t bytes = s ? (size_t)s->n * sizeof *s->q : 0;
  if (out && bytes) memcpy(out, s->q, bytes);
  return bytes;
}

// Measures, and fills `out` unless NULL, in one function so that size and content agree.
static size_t put_all(const rf_tick *t, const rf_tick_record *record, char *out) {
  size_t used = sizeof *record;
  if (out) memcpy(out, record, sizeof *record);
  for (int32_t k = 0; k < t->n_parts; ++k)
    used += put_coordinates(t->part[k].shell, out ? out + used : NULL);
  return used + put_coordinates(t->field, out ? out + used : NULL);
}

size_t rf_tick_snapshot_bytes_rt(const rf_tick *t) { return put_all(t, NULL, NULL); }

void rf_tick_snapshot_rt(const rf_tick *t, const rf_tick_record *record, char *out) {
  (void)put_all(t, record, out);
}
