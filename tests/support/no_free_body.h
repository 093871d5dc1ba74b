// In place of free bodies (dynamics/free_body.h), for tests of worlds without any.
#ifndef NO_FREE_BODY_H
#define NO_FREE_BODY_H

#include "dynamics/free_body.h"

rf_status rf_free_body_copy(const rf_free_body *from, const double *gravity, rf_free_body **out,
                            rf_error *err) {
  (void)from, (void)gravity;
  *out = NULL;
  return rf_fail(err, RF_ERR_ARG, "there are no free bodies here");
}
void rf_free_body_free(rf_free_body *body) { (void)body; }
bool rf_free_body_move_rt(rf_free_body *body, const double wrench[6]) {
  (void)body, (void)wrench;
  return false;
}
void rf_free_body_angular_velocity_rt(const rf_free_body *body, double omega[3]) {
  (void)body, (void)omega;
}
void rf_free_body_turned_rt(const rf_free_body *body, const double angular_momentum[3],
                            double omega[3]) {
  (void)body, (void)angular_momentum, (void)omega;
}

#endif
