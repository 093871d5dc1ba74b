#include "linalg/dense_rt.h"
#include "world/driven.h"

rf_status rf_driven_step_rt(rf_driven *d, rf_motion *simulation, rf_contact *contact,
                            const rf_pose *pose, const double *field_q, const double *force,
                            rf_contact_result *result, double *reduced, double *field_reduced) {
  const int32_t r = simulation->n, ld = rf_dense_ld(r);
  rf_status st = rf_contact_deform_field_rt(contact, field_q);
  if (st >= 0)
    st = rf_contact_evaluate_rt(contact, pose, simulation->q, -1, result, reduced, field_reduced,
                                &d->blocks);
  if (st < 0) return st;
  for (int32_t i = 0; i < r; ++i) d->force[i] = reduced[i] + (force ? force[i] : 0.0);
  for (int32_t i = 0; i < ld * ld; ++i) d->blocks.shell[i] = -d->blocks.shell[i];
  simulation->bounded = true;
  st = rf_motion_step_added_rt(simulation, d->force, d->blocks.shell);
  simulation->bounded = false;
  return st;
}
