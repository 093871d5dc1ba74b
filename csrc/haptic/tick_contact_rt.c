// Stage that evaluates contacts, of ticks with a coupling.
#include <math.h>
#include <string.h>

#include "haptic/tick_state.h"

// Part of the budget for the search, where the world then solves for the forces.
static const double FOR_SEARCH = 0.6;

// Evaluates the forces of all contacts on the held object; `processor_us`: processor time of the
// thread before it.
static rf_status touch(rf_tick *t, double processor_us, rf_coupling_load *load,
                       rf_tick_record *out) {
  const double part = rf_world_constrains_rt(t->world) ? FOR_SEARCH : 1.0;
  const rf_world_budget budget = {part * t->set.budget_us - t->rest_us, processor_us};
  const rf_world_found *found = &t->world->found;
  const double *wrench = t->object->wrench;
  const rf_status st = rf_world_search_rt(t->world, t->set.budget_us > 0.0 ? &budget : NULL);
  if (st < 0) return st;
  rf_world_load_rt(t->world);
  memset(load, 0, sizeof *load);
  for (int i = 0; i < 3; ++i) {
    out->contact_force[i] = load->force_n[i] = wrench[i];
    out->contact_torque[i] = load->torque_nm[i] = wrench[i + 3];
  }
  memcpy(load->gradient, t->object->gradient, sizeof load->gradient);
  load->depth_m = found->depth_m;
  // the deepest of missed cycles, too
  out->depth_m = fmax(out->depth_m, found->deepest_m);
  load->clearance_m = found->clearance_m;
  out->visited = found->visited;
  out->touching = found->touching;
  out->level = found->level;
  return RF_OK;
}

rf_status rf_tick_contact_rt(rf_cycle *c) {
  rf_status st = rf_world_constrains_rt(c->t->world) ? rf_tick_free_rt(c) : RF_OK;
  if (st >= 0) st = touch(c->t, c->processor_begun_us, &c->load, c->out);
  c->out->contact_us = rf_cycle_lap_rt(c);
  if (st >= 0 && c->load.depth_m > rf_tick_most_depth(c->t)) c->out->flags |= RF_TICK_TOO_DEEP;
  return st;
}
