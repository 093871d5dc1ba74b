#include <string.h>

#include "world/driven.h"

static void put(const rf_pair *pair, int32_t r_field, rf_contact_result *result, double *reduced,
                double *field_reduced) {
  const rf_pair_side *tree = &pair->side[RF_PAIR_TREE], *field = &pair->side[RF_PAIR_FIELD];
  *result = pair->found;
  memcpy(reduced, tree->reduced, (size_t)tree->body->motion->n * sizeof *reduced);
  if (field_reduced) memcpy(field_reduced, field->reduced, (size_t)r_field * sizeof *field_reduced);
}

rf_status rf_driven_step_rt(rf_driven *d, const rf_pose *pose, const double *field_q,
                            const double *force, rf_contact_result *result, double *reduced,
                            double *field_reduced) {
  rf_body *shell = d->shell;
  rf_motion *simulation = shell->motion;
  d->field->pose = *pose;
  d->field->shape = field_q;
  rf_status st = rf_pair_search_rt(d->pair);
  if (st < 0) return st;
  put(d->pair, d->r_field, result, reduced, field_reduced);
  rf_body_unload_rt(shell);
  rf_body_unload_rt(d->field);
  rf_pair_load_rt(d->pair);
  for (int32_t i = 0; force && i < simulation->n; ++i) shell->reduced[i] += force[i];
  simulation->bounded = true;
  st = shell->kind->step_rt(shell);
  simulation->bounded = false;
  return st;
}
