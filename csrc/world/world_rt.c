#include "world/world.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clock_rt.h"

// Gives pair k an equal part of the time left.  Processor time: a pause of the machine in the first
// contact must not starve the others, whose forces would jump for one step.
static void divide(const rf_world *w, int32_t k, const rf_world_budget *budget) {
  const double spent_us = k > 0 ? rf_processor_us_rt() - budget->begun_us : 0.0;
  const double left = budget->left_us - spent_us;
  rf_contact_set_budget_rt(w->pair[k]->contact, fmax(left / (w->n_pairs - k), 1.0));
}

rf_status rf_world_search_rt(rf_world *w, const rf_world_budget *budget) {
  rf_world_found *found = &w->found;
  *found = (rf_world_found){.clearance_m = INFINITY, .level = INT32_MAX};
  for (int32_t k = 0; k < w->n_pairs; ++k) {
    if (budget) divide(w, k, budget);
    const rf_status st = rf_pair_search_rt(w->pair[k]);
    if (st < 0) return st;
    const rf_contact_result *one = &w->pair[k]->found;
    found->deepest_m = fmax(found->deepest_m, one->depth_m);
    found->visited += one->visited;
    if (one->level < found->level) found->level = one->level;
    if (rf_pair_without_held_rt(w->pair[k])) continue;
    found->depth_m = fmax(found->depth_m, one->depth_m);
    found->clearance_m = fmin(found->clearance_m, one->clearance_m);
    found->touching += one->touching;
  }
  return RF_OK;
}

void rf_world_load_rt(rf_world *w) {
  for (int32_t k = 0; k < w->n_bodies; ++k) rf_body_unload_rt(w->body[k]);
  for (int32_t k = 0; k < w->n_pairs; ++k) rf_pair_load_rt(w->pair[k]);
}

rf_status rf_world_condense_rt(rf_world *w, rf_body *held, bool again, double wrench[6],
                               double gradient[36]) {
  w->joint = false;
  if (!w->solver->condense_rt) return RF_OK;
  memcpy(wrench, held->wrench, sizeof held->wrench);
  memcpy(gradient, held->gradient, sizeof held->gradient);
  return w->solver->condense_rt(w->solving, w, again, wrench, gradient);
}

rf_status rf_world_foresee_rt(rf_world *w, const rf_held_free *held) {
  return w->solver->foresee_rt(w->solving, w, held);
}

rf_status rf_world_constrain_rt(rf_world *w, const double *move, double end_us, double wrench[6]) {
  w->joint = false;
  return w->solver->constrain_rt(w->solving, w, move, end_us, wrench);
}

static rf_status step_each(rf_world *w) {
  rf_status st = RF_OK;
  for (int32_t k = 0; k < w->n_bodies && st >= 0; ++k) st = w->body[k]->kind->step_rt(w->body[k]);
  return st;
}

rf_status rf_world_step_rt(rf_world *w, const double move[6]) {
  const rf_status st = w->joint ? w->solver->step_rt(w->solving, w, move) : step_each(w);
  w->joint = false;
  if (st >= 0 && w->solver->prepare_rt) w->solver->prepare_rt(w->solving);
  return st;
}

void rf_world_forget_rt(rf_world *w) {
  w->found = (rf_world_found){.level = INT32_MAX};
  for (int32_t k = 0; k < w->n_pairs; ++k) {
    rf_contact_forget_rt(w->pair[k]->contact);
    w->pair[k]->found.touching = 0;
    w->pair[k]->dimpled = false;
    w->pair[k]->found.depth_m = w->pair[k]->found.clearance_m = 0.0;
  }
  if (w->solver->reset_rt) w->solver->reset_rt(w->solving);
}

void rf_world_ask_clearance_rt(rf_world *w, bool asked) {
  for (int32_t k = 0; k < w->n_pairs; ++k) rf_contact_ask_clearance_rt(w->pair[k]->contact, asked);
}

int64_t rf_world_shortened_rt(const rf_world *w) {
  int64_t sum = 0;
  for (int32_t k = 0; k < w->n_bodies; ++k)
    if (w->body[k]->motion) sum += w->body[k]->motion->report.shortened;
  return sum;
}
