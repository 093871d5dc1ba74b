// In place of contact in explicit steps (dynamics/collide.h) and of the check of constrained nodes,
// for tests of motions without any.
#ifndef NO_COLLIDE_H
#define NO_COLLIDE_H

#include "dynamics/collide.h"

rf_status rf_collide_create(const rf_collide_settings *set, const rf_system *system, double usual_s,
                            rf_collide **out, rf_error *err) {
  (void)set, (void)system, (void)usual_s;
  *out = NULL;
  return rf_fail(err, RF_ERR_INTERNAL, "there is no contact in explicit steps here");
}
void rf_collide_free(rf_collide *c) { (void)c; }
void rf_collide_reset(rf_collide *c) { (void)c; }
void rf_collide_recall(rf_collide *c, const double *state) { (void)c, (void)state; }
void rf_collide_remember(const rf_collide *c, double *state) { (void)c, (void)state; }

rf_status rf_constraints_require_free(const rf_constraints *constraints, int64_t n,
                                      const int32_t *nodes, rf_error *err) {
  (void)constraints, (void)n, (void)nodes, (void)err;
  return RF_OK;
}

#endif
