// Stages that move the object and the bodies, of ticks with a coupling.
#include <math.h>
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
  if (st >= 0)
    rf_depth_limit_rt(set, hand, &start, load, &t->limit, &t->coupling.coupling, moving, report);
  return st;
}

rf_status rf_tick_free_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  const rf_pose *hand = &t->workspace.manipulandum;
  const rf_world_found *last = &t->world->found;
  const rf_coupling_settings *spring = t->set.dynamic ? &t->set.dynamics.spring : &t->set.coupling;
  rf_coupling_load load = {.depth_m = last->depth_m, .clearance_m = last->clearance_m};
  rf_held_free held = {.reach_m = spring->reach_m};
  double velocity[6];
  rf_status st = RF_OK;
  velocity_of(&c->before, hand, t->set.dynamic ? c->step_s : 1.0, velocity);
  if (t->set.dynamic) {
    st = rf_dynamic_free_rt(&t->set.dynamics, hand, velocity, &load, &t->coupling, &t->free);
  } else {
    load.condensed = t->deforms;
    memcpy(load.led, velocity, sizeof load.led);
    rf_coupling_free_rt(spring, hand, &load, &t->coupling.coupling, &t->free);
  }
  if (st < 0) return st;
  memcpy(held.way, t->free.way, sizeof held.way);
  memcpy(held.compliance, t->free.compliance, sizeof held.compliance);
  return rf_world_foresee_rt(t->world, &held);
}

// Part of the budget in which search and forces of contact end: the steps of the bodies follow.
static const double FOR_FORCES = 0.85;

static rf_status solve(rf_cycle *c, const double *move, double wrench[6]) {
  const double budget_us = c->t->set.budget_us, begun_us = rf_clock_us_rt();
  const double end_us = budget_us > 0.0 ? c->processor_begun_us + FOR_FORCES * budget_us : INFINITY;
  const rf_status st = rf_world_constrain_rt(c->t->world, move, end_us, wrench);
  c->forces_us += rf_clock_us_rt() - begun_us;
  return st;
}

// Moves the object by forces of contact that end the cycle without penetration.
static rf_status constrain(rf_cycle *c) {
  rf_tick *t = c->t;
  const rf_pose *hand = &t->workspace.manipulandum;
  const rf_pose start = t->coupling.coupling.object;
  const rf_coupling_settings *spring = t->set.dynamic ? &t->set.dynamics.spring : &t->set.coupling;
  double wrench[6], solved[6];
  rf_status st = solve(c, NULL, wrench);
  if (st < 0) return st;
  if (t->set.dynamic)
    st = rf_dynamic_finish_rt(&t->set.dynamics, hand, &t->free, wrench, &t->coupling, &c->report);
  else
    st = rf_coupling_finish_rt(spring, hand, &t->free, wrench, &t->coupling.coupling, &c->report);
  if (st < 0) return st;
  memcpy(solved, c->report.move, sizeof solved);
  rf_depth_limit_rt(spring, hand, &start, &c->load, &t->limit, &t->coupling.coupling,
                    t->set.dynamic ? t->coupling.velocity : NULL, &c->report);
  // bodies would otherwise be pushed by a motion that is not made
  if (t->deforms && memcmp(solved, c->report.move, sizeof solved) != 0)
    st = solve(c, c->report.move, wrench);
  memcpy(c->out->contact_force, wrench, sizeof c->out->contact_force);
  memcpy(c->out->contact_torque, wrench + 3, sizeof c->out->contact_torque);
  c->out->touching = t->world->found.touching;
  if (t->world->found.unsolved) c->out->flags |= RF_TICK_UNSOLVED;
  if (t->world->found.crowded) c->out->flags |= RF_TICK_CROWDED;
  return st;
}

// Condenses the load if the cycle is coupled: it then includes the responses of all bodies.
static rf_status condense(rf_tick *t, bool again, const rf_pose *before, rf_coupling_load *load,
                          rf_tick_record *out) {
  double wrench[6];
  const rf_status st = rf_world_condense_rt(t->world, t->object, again, wrench, load->gradient);
  if (st == RF_ERR_SINGULAR) out->flags |= RF_TICK_SPLIT;
  if (!t->world->joint) return st == RF_ERR_SINGULAR ? RF_OK : st;
  memcpy(load->force_n, wrench, sizeof load->force_n);
  memcpy(load->torque_nm, wrench + 3, sizeof load->torque_nm);
  velocity_of(before, &t->workspace.manipulandum, 1.0, load->led);
  load->condensed = true;
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
                      const rf_coupling_load *contact, rf_coupling_report *report,
                      rf_tick_record *out) {
  const rf_dynamic_state coupling = t->coupling;
  const rf_depth_limit limit = t->limit;
  rf_coupling_load load = *contact;
  rf_status st = condense(t, false, before, &load, out);
  if (st >= 0) st = couple(t, before, elapsed_s, &load, report);
  if (st < 0 || !t->world->joint || !pulls(contact, &load, report->move)) return st;
  t->coupling = coupling;
  t->limit = limit;
  load = *contact;
  st = condense(t, true, before, &load, out);
  return st < 0 ? st : couple(t, before, elapsed_s, &load, report);
}

static bool saturated(const rf_coupling_report *report, double share) {
  static const double WHOLE = 1.0 - 1e-9;
  const rf_coupling_wrench *w = &report->wrench;
  return share < WHOLE || rf_vec3_length(w->force_n) < WHOLE * rf_vec3_length(w->linear_force_n) ||
         rf_vec3_length(w->torque_nm) < WHOLE * rf_vec3_length(w->linear_torque_nm);
}

static rf_status object_rt(rf_cycle *c) {
  rf_tick *t = c->t;
  rf_tick_record *out = c->out;
  const rf_status st = rf_world_constrains_rt(t->world)
                           ? constrain(c)
                           : move(t, &c->before, c->step_s, &c->load, &c->report, out);
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
static rf_status bodies_rt(rf_cycle *c) {
  rf_world *world = c->t->world;
  const int64_t before = rf_world_shortened_rt(world);
  const rf_status st = rf_world_step_rt(world, c->report.move);
  rf_body_hold_rt(c->t->object, &c->t->coupling.coupling.object);
  if (rf_world_shortened_rt(world) > before) c->out->flags |= RF_TICK_SHORTENED;
  c->out->deform_us = rf_cycle_lap_rt(c);
  return st;
}

const rf_tick_answer rf_tick_coupled = {
    .contact_rt = rf_tick_contact_rt, .object_rt = object_rt, .bodies_rt = bodies_rt};
