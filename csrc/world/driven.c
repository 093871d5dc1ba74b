#include "world/driven.h"

#include "base/alloc.h"
#include "body/kinds.h"
#include "linalg/dense_rt.h"

static rf_status make(rf_contact *contact, rf_motion *simulation, rf_driven *d, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t ld = rf_dense_ld(simulation->n);
  d->shell.kind = &rf_body_reduced_kind;
  d->shell.pose.quaternion[0] = 1.0;
  d->shell.motion = simulation;
  d->shell.steps = 1;
  d->field.kind = &rf_body_held_kind;
  d->r_field = rf_contact_field_coordinates(contact);
  rf_contact_grasp(contact, d->field.reference_m);
  RF_ALLOC(d->shell.reduced, ld);
  RF_ALLOC(d->shell.added, ld * ld);
  RF_TRY(rf_pair_create(contact, &d->shell, &d->field, &d->pair, err));
  RF_TRY(rf_pair_ask(d->pair, RF_PAIR_OWN, err));
done:
  return st;
}

rf_status rf_driven_create(rf_contact *contact, rf_motion *simulation, rf_driven **out,
                           rf_error *err) {
  rf_status st = RF_OK;
  rf_driven *d = NULL;
  *out = NULL;
  RF_ALLOC(d, 1);
  RF_TRY(make(contact, simulation, d, err));
  *out = d;
  d = NULL;
done:
  rf_driven_free(d);
  return st;
}

void rf_driven_free(rf_driven *d) {
  if (!d) return;
  rf_pair_free(d->pair);
  rf_free(d->shell.reduced);
  rf_free(d->shell.added);
  rf_free(d);
}
