#include "body/kinds.h"

static rf_status create(const rf_body_settings *set, rf_body *body, rf_error *err) {
  (void)set;
  if (!body->motion) return rf_fail(err, RF_ERR_ARG, "a reduced body needs a motion");
  return RF_OK;
}

const rf_body_kind rf_body_reduced_kind = {
    .name = "reduced", .anchored = true, .create = create, .step_rt = rf_body_deform_rt};
