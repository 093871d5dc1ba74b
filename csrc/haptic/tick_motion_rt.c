// Stages that move the object and the bodies.
#include <string.h>

#include "haptic/tick_state.h"
#include "linalg/quat.h"

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

rf_status rf_stage_object_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  rf_tick_record *out = c->out;
  const rf_status st = move(t, &c->before, c->elapsed_s, &c->load, &c->together, &c->report, out);
  if (st < 0) return st;
  out->rank = c->report.rank;
  out->share = t->coupling.coupling.share;
  if (c->report.limited) out->flags |= RF_TICK_LIMITED;
  if (saturated(&c->report, out->share)) out->flags |= RF_TICK_SATURATED;
  rf_tick_put_pose(&t->workspace.manipulandum, out->hand_position, out->hand_quaternion);
  rf_tick_put_pose(&t->coupling.coupling.object, out->object_position, out->object_quaternion);
  return RF_OK;
}

// Moves the bodies after the force is sent, and prepares the next cycle, which shortens its way to
// the force.
rf_status rf_stage_bodies_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  const int64_t before = shortened(t);
  const rf_status st =
      c->together && t->coupled ? rf_coupled_finish_rt(t->coupled, c->report.move) : deform(t);
  if (shortened(t) > before) c->out->flags |= RF_TICK_SHORTENED;
  if (st >= 0 && t->coupled) rf_coupled_prepare_rt(t->coupled);
  c->out->deform_us = rf_cycle_lap_rt(c);
  return st;
}
