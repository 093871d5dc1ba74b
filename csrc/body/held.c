#include "body/kinds.h"

static rf_status create(const rf_body_settings *set, rf_body *body, rf_error *err) {
  (void)set, (void)body, (void)err;
  return RF_OK;
}

const rf_body_kind rf_body_held_kind = {
    .name = "held", .create = create, .step_rt = rf_body_deform_rt};
