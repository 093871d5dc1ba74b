// Pose of a cycle, and bounds on the travel of points between cycles.
#include <math.h>
#include <string.h>

#include "contact/search.h"
#include "linalg/quat.h"

// Relative to the size of the scene: thousands of roundings.
static const double ROUNDING = 1e-12;
// Rounds a sum of positive terms upwards.
static const double UP = 1.0 + 1e-15;

static void rotation_of(const double q[4], double m[9]) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  m[0] = 1.0 - 2.0 * (y * y + z * z), m[1] = 2.0 * (x * y - w * z), m[2] = 2.0 * (x * z + w * y);
  m[3] = 2.0 * (x * y + w * z), m[4] = 1.0 - 2.0 * (x * x + z * z), m[5] = 2.0 * (y * z - w * x);
  m[6] = 2.0 * (x * z - w * y), m[7] = 2.0 * (y * z + w * x), m[8] = 1.0 - 2.0 * (x * x + y * y);
}

bool rf_contact_search_place_rt(rf_contact_search *s, const rf_pose *pose, const double grasp_m[3],
                                const double *q) {
  const rf_point_tree *t = s->tree;
  rf_contact_frame *f = &s->frame;
  double unit[4], arm[3];
  const double reach = rf_point_tree_reach_rt(t, q);
  if (!(rf_pose_usable_rt(pose) && reach < RF_TREE_FARTHEST)) return false;

  rf_quat_normalize(pose->quaternion, unit);
  rotation_of(unit, f->rotation);
  memcpy(f->position, pose->position_m, sizeof f->position);
  rf_contact_to_world(f->rotation, grasp_m, f->grasp);
  for (int i = 0; i < 3; ++i) f->grasp[i] += f->position[i];
  if (q)
    rf_point_tree_pad_rt(t, q, s->row, s->bound);
  else {
    memset(s->row, 0, (size_t)t->row * sizeof *s->row);
    memset(s->bound, 0, (size_t)t->bound * sizeof *s->bound);
    s->bound[0] = 1.0;
  }
  double size = reach;
  rf_vec3_sub(t->centre, f->position, arm);
  size += rf_vec3_length(arm) + rf_vec3_length(t->centre) + rf_vec3_length(f->position);
  s->margin = ROUNDING * size;
  return true;
}

// Bounds the motion of any point of the shell since the last cycle, seen from the field object:
// with y = R^T (x - p) and any fixed centre c,
//   |y1 - y0| <= |x1 - x0| + |R1 - R0| |x0 - c| + |R1^T (c - p1) - R0^T (c - p0)| .
static double bound_motion(const rf_contact_search *s) {
  const rf_point_tree *t = s->tree;
  double arm[3], now[3], before[3], turn = 0.0;
  rf_vec3_sub(t->centre, s->frame.position, arm);
  rf_contact_to_body(s->frame.rotation, arm, now);
  rf_vec3_sub(t->centre, s->last_position, arm);
  rf_contact_to_body(s->last_rotation, arm, before);
  rf_vec3_sub(now, before, arm);
  for (int i = 0; i < 9; ++i) {
    const double change = s->frame.rotation[i] - s->last_rotation[i];
    turn += change * change;
  }
  // the Frobenius norm of a difference of rotations is sqrt(2) times its largest stretch
  turn = sqrt(0.5 * turn);
  const double reach = rf_point_tree_reach_rt(t, s->last_row);
  double deformation = 0.0;
  for (int32_t j = 0; j < t->r; ++j)
    deformation += t->motion_most[j] * fabs(s->row[j] - s->last_row[j]);
  // spheres are tested with the margin added, which changes from cycle to cycle
  const double rounding = s->margin + s->last_margin + fabs(s->margin - s->last_margin);
  return rf_vec3_length(arm) + turn * reach + deformation + rounding;
}

void rf_contact_search_travel_rt(rf_contact_search *s) {
  const rf_point_tree *t = s->tree;
  if (s->begun) {
    // a larger alarm distance is as larger spheres
    const double motion = bound_motion(s) + fmax(s->alarm - s->last_alarm, 0.0);
    for (int32_t level = 0; level < t->n_levels; ++level) {
      double growth = 0.0;
      for (int32_t j = 0; j < t->r; ++j) {
        const double more = fabs(s->row[j]) - fabs(s->last_row[j]);
        if (more > 0.0) growth += t->growth_most[level * t->r + j] * more;
      }
      s->travel[level] = (s->travel[level] + (motion + growth) * (1.0 + ROUNDING)) * UP;
    }
  }
  s->begun = true;
  s->last_margin = s->margin;
  s->last_alarm = s->alarm;
  memcpy(s->last_rotation, s->frame.rotation, sizeof s->last_rotation);
  memcpy(s->last_position, s->frame.position, sizeof s->last_position);
  memcpy(s->last_row, s->row, (size_t)t->row * sizeof *s->row);
}

rf_status rf_contact_search_deform_rt(rf_contact_search *s, const double *field_q) {
  if (!s->pose) return field_q ? RF_ERR_ARG : RF_OK;
  const double *q = field_q ? field_q : s->field_rest;
  return rf_deformed_pose_update_rt(s->distance.deformed, q, s->pose) ? RF_OK : RF_ERR_ARG;
}
