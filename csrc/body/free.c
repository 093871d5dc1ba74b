#include "body/free.h"

#include <string.h>

#include "body/kinds.h"

static void release(rf_body *body) { rf_free_body_free(body->self); }

// of_kind: an rf_free_body, copied.
static rf_status create(const rf_body_settings *set, rf_body *body, rf_error *err) {
  rf_free_body *mine = NULL;
  const rf_status st = rf_free_body_copy(set->of_kind, NULL, &mine, err);
  if (st < 0) return st;
  body->self = mine;
  body->motion = mine->deformation;
  body->motion->bounded = true;
  body->borrows = true;
  body->steps = 1;
  memcpy(body->reference_m, mine->set.centre, sizeof body->reference_m);
  rf_body_free_follow_rt(body);
  return RF_OK;
}

const rf_body_kind rf_body_free_kind = {.name = "free",
                                        .create = create,
                                        .release = release,
                                        .step_rt = rf_body_free_step_rt,
                                        .foresee_rt = rf_body_free_foresee_rt,
                                        .move_rt = rf_body_free_move_rt};

const rf_free_body *rf_body_free_body(const rf_body *body) {
  return body->kind == &rf_body_free_kind ? body->self : NULL;
}
