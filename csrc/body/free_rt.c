#include "body/free.h"

#include <string.h>

// The frame of the body at rest, from the place of the centre of mass.
void rf_body_free_follow_rt(rf_body *body) {
  const rf_free_body *free = body->self;
  rf_pose at;
  memcpy(at.position_m, free->rigid.position, sizeof at.position_m);
  memcpy(at.quaternion, free->rigid.quaternion, sizeof at.quaternion);
  rf_body_hold_rt(body, &at);
}

// As rf_free_body_move_rt, to first order in the rotation of a step.
void rf_body_free_foresee_rt(const rf_body *body, double way[6], double compliance[36]) {
  const rf_free_body *free = body->self;
  const double h = free->set.deformation.dt_s;
  double omega[3], column[3];
  rf_free_body_angular_velocity_rt(free, omega);
  memset(compliance, 0, 36 * sizeof *compliance);
  for (int i = 0; i < 3; ++i) {
    way[i] = h * (free->rigid.momentum[i] / free->set.mass + h * free->set.gravity[i]);
    way[3 + i] = h * omega[i];
    compliance[7 * i] = h * h / free->set.mass;
  }
  for (int j = 0; j < 3; ++j) {
    const double unit[3] = {j == 0, j == 1, j == 2};
    rf_free_body_turned_rt(free, unit, column);
    for (int i = 0; i < 3; ++i) compliance[6 * (3 + i) + 3 + j] = h * h * column[i];
  }
}

rf_status rf_body_free_move_rt(rf_body *body, const double wrench[6]) {
  if (!rf_free_body_move_rt(body->self, wrench)) return RF_ERR_DIVERGED;
  rf_body_free_follow_rt(body);
  return RF_OK;
}

rf_status rf_body_free_step_rt(rf_body *body) {
  const rf_status st = rf_body_deform_rt(body);
  return st < 0 ? st : rf_body_free_move_rt(body, body->wrench);
}
