#include "world/driven.h"

#include "base/alloc.h"
#include "body/body.h"

static rf_status make(rf_contact *contact, rf_motion *simulation, rf_driven *d, rf_error *err) {
  rf_status st = RF_OK;
  const rf_pose origin = {.quaternion = {1.0}};
  const rf_body_settings shell = {
      .kind = "reduced", .pose = origin, .borrowed = simulation, .implicit = true};
  rf_body_settings field = {.kind = "held", .pose = origin};
  d->r_field = rf_contact_field_coordinates(contact);
  rf_contact_grasp(contact, field.reference_m);
  RF_TRY(rf_body_create(&shell, simulation->set.dt_s, &d->shell, err));
  RF_TRY(rf_body_create(&field, simulation->set.dt_s, &d->field, err));
  RF_TRY(rf_pair_create(contact, d->shell, d->field, &d->pair, err));
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
  rf_body_free(d->shell);
  rf_body_free(d->field);
  rf_free(d);
}
