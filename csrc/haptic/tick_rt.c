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

rf_status rf_stage_contact_rt(rf_cycle *c) { return c->t->answer->contact_rt(c); }
rf_status rf_stage_object_rt(rf_cycle *c) { return c->t->answer->object_rt(c); }
rf_status rf_stage_bodies_rt(rf_cycle *c) { return c->t->answer->bodies_rt(c); }

static void forget_touch(rf_tick *t) {
  if (t->touch) t->touch->kind->forget_rt(t->touch->self);
  memset(&t->felt, 0, sizeof t->felt);
}

void rf_tick_begin_rt(rf_tick *t) {
  t->last_s = t->limited_us = -1.0;
  forget_touch(t);
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

void rf_tick_pace_rt(rf_tick *t, double pause_s) { t->pause_us = 1e6 * pause_s; }

void rf_tick_enable_rt(rf_tick *t, bool enabled) { t->safety.enabled = enabled; }

void rf_tick_limit_rt(rf_tick *t, double max_force_n, double max_torque_nm) {
  rf_safety_settings *set = &t->set.safety;
  if (max_force_n < set->max_force_n) set->max_force_n = max_force_n;
  if (max_torque_nm < set->max_torque_nm) set->max_torque_nm = max_torque_nm;
}

const rf_touch_felt *rf_tick_felt_rt(const rf_tick *t) { return t->touch ? &t->felt : NULL; }

bool rf_tick_faded_rt(const rf_tick *t) { return !t->safety.enabled && t->safety.ramp == 0.0; }

void rf_tick_recentre_rt(rf_tick *t) {
  const rf_pose *start = &t->set.workspace.start;
  rf_workspace_recentre_rt(start, &t->workspace);
  memset(&t->coupling, 0, sizeof t->coupling);
  t->coupling.coupling.object = *start;
  rf_body_hold_rt(t->object, start);
  t->coupling.coupling.share = 1.0;
  memset(&t->limit, 0, sizeof t->limit);
  rf_world_forget_rt(t->world);
  forget_touch(t);
  t->safety.ramp = 0.0;  // the object may be in contact there
}

static const rf_coupling_settings *springs_of(const rf_tick_settings *set) {
  return set->dynamic ? &set->dynamics.spring : &set->coupling;
}

void rf_tick_set_coupling_rt(rf_tick *t, const rf_tick_settings *set) {
  if (t->touch) return;
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
  // the depth limiter needs the clearance
  rf_world_ask_clearance_rt(t->world, isfinite(new->max_depth_m));
  for (int32_t k = 0; t->set.suited && k < t->world->n_pairs; ++k)
    rf_contact_suit_coupling_rt(t->world->pair[k]->contact, new->stiffness_n_per_m);
}

// Ends a failed cycle: disables output and sends zero.  Returns `st`, the first failure, even if
// the device cannot be written to.
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
  (void)device->table->write_rt(device->self, time_s, &zero);
  return st;
}

static const struct stage {
  rf_status (*run)(rf_cycle *c);
  uint32_t failure;  // RF_TICK_ flag
} stages_rt[] = {
    {rf_stage_read_rt, RF_TICK_DEVICE_FAILED},  {rf_stage_hand_rt, RF_TICK_DIVERGED},
    {rf_stage_missed_rt, RF_TICK_DIVERGED},     {rf_stage_contact_rt, RF_TICK_DIVERGED},
    {rf_stage_object_rt, RF_TICK_DIVERGED},     {rf_stage_limit_rt, RF_TICK_DIVERGED},
    {rf_stage_write_rt, RF_TICK_DEVICE_FAILED}, {rf_stage_bodies_rt, RF_TICK_DIVERGED},
};

static void account(const rf_cycle *c, double processor_us, rf_tick_record *out) {
  rf_tick *t = c->t;
  out->compute_us = out->contact_us + out->coupling_us + out->deform_us + c->made_up_us;
  out->processor_us = fmin(processor_us, out->compute_us);
  t->cycle_us = out->processor_us / (1 + c->made_up);
  // A pause of the machine is limited in the estimate, or it would starve the contact of the next
  // thousand cycles.  Cycles that really take longer raise it within a few.
  // A solve for the forces of contact has a limit of its own (rf_stage_object_rt).
  double taken_us = out->coupling_us + out->deform_us;
  if (c->forces_us > 0.0) taken_us = fmin(taken_us - c->forces_us, out->processor_us);
  const double rest = fmin(taken_us, PAUSE * fmax(t->rest_us, SHORTEST_US));
  t->rest_us = rest > t->rest_us ? rest : t->rest_us + FORGET * (rest - t->rest_us);
}

rf_status rf_tick_run_rt(rf_tick *t, const rf_device *device, double time_s, rf_tick_record *out) {
  rf_cycle c = {.t = t, .device = device, .time_s = time_s, .out = out};
  memset(out, 0, sizeof *out);
  out->tick = t->ticks++;
  out->time_s = time_s;
  c.lap_us = rf_clock_us_rt();
  for (size_t k = 0; k < sizeof stages_rt / sizeof *stages_rt; ++k) {
    const rf_status st = stages_rt[k].run(&c);
    if (st < 0) {
      const bool diverged = stages_rt[k].failure == RF_TICK_DIVERGED;
      return fail(t, device, time_s, diverged ? RF_ERR_DIVERGED : RF_ERR_DEVICE,
                  stages_rt[k].failure, out);
    }
    if (stages_rt[k].run == rf_stage_write_rt && (out->flags & RF_SAFETY_BROKEN))
      return RF_ERR_DIVERGED;
  }
  account(&c, rf_processor_us_rt() - c.processor_us, out);
  return RF_OK;
}
