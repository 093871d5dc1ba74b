#include <string.h>

#include "body/body.h"
#include "linalg/dense_rt.h"
#include "linalg/quat.h"

void rf_body_reference_rt(const rf_body *body, double out[3]) {
  const double *r = body->reference_m;
  if (r[0] == 0.0 && r[1] == 0.0 && r[2] == 0.0) {
    memcpy(out, body->pose.position_m, sizeof body->pose.position_m);
    return;
  }
  rf_quat_rotate(body->pose.quaternion, r, out);
  for (int i = 0; i < 3; ++i) out[i] += body->pose.position_m[i];
}

void rf_body_hold_rt(rf_body *body, const rf_pose *at) {
  double arm[3];
  body->pose = *at;
  rf_quat_rotate(at->quaternion, body->reference_m, arm);
  for (int i = 0; i < 3; ++i) body->pose.position_m[i] -= arm[i];
}

void rf_body_unload_rt(rf_body *body) {
  const size_t ld = (size_t)rf_dense_ld(rf_body_coordinates_rt(body));
  memset(body->wrench, 0, sizeof body->wrench);
  if (!body->kind->anchored) memset(body->gradient, 0, sizeof body->gradient);
  if (body->reduced) memset(body->reduced, 0, ld * sizeof *body->reduced);
  if (body->added) memset(body->added, 0, ld * ld * sizeof *body->added);
}

rf_status rf_body_follow_rt(rf_motion *motion, int64_t steps, const double *force,
                            const double *more, const double *added, double *scratch) {
  const int32_t r = motion->n, ld = rf_dense_ld(r);
  double *way = scratch, *now = scratch + ld;
  memset(scratch, 0, 2 * (size_t)ld * sizeof *scratch);
  for (int64_t j = 1; j <= steps; ++j) {
    const double part = (double)j / (double)steps;
    rf_dense_multiply_rt(motion->system->simd, r, added, ld, way, now);
    for (int32_t i = 0; i < r; ++i) {
      now[i] = force[i] + (more ? part * more[i] : 0.0) - now[i];
      way[i] -= motion->q[i];
    }
    const rf_status st = rf_motion_step_added_rt(motion, now, added);
    if (st < 0) return st;
    for (int32_t i = 0; i < r; ++i) way[i] += motion->q[i];
  }
  return RF_OK;
}

rf_status rf_body_deform_rt(rf_body *b) {
  if (!b->motion) return RF_OK;
  if (!b->added) return rf_motion_step_rt(b->motion, b->reduced, b->steps);
  if (b->steps == 1) return rf_motion_step_added_rt(b->motion, b->reduced, b->added);
  return rf_body_follow_rt(b->motion, b->steps, b->reduced, NULL, b->added, b->scratch);
}
