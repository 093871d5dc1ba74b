#include "render/depth_limit.h"

#include <math.h>
#include <string.h>

#include "render/step_rt.h"

// Kinds of trials: the step of the coupling, straight to the pose of the manipulandum, or to its
// position only.
enum { FOLLOW, STRAIGHT, TRANSLATE };

// Parts of the largest depth: poses up to TAKEN are accepted, those up to RELIEVED follow the
// coupling again, and trials shorter than SHORT get the full length.
static const double TAKEN = 0.75, RELIEVED = 0.5, SHORT = 1.0 / 64.0;
// Part of the largest depth by which an object that began too deep may get deeper on its way out.
static const double UNEVEN = 0.125;

static void set_pose(const rf_coupling_settings *set, const rf_pose *manipulandum,
                     const rf_pose *before, const rf_pose *after, rf_coupling_state *state,
                     rf_coupling_report *report) {
  for (int i = 0; i < 3; ++i) report->move[i] = after->position_m[i] - before->position_m[i];
  rf_quat_rotation_between(before->quaternion, after->quaternion, report->move + 3);
  state->object = *after;
  report->limited = true;
  rf_coupling_wrench_rt(set, manipulandum, after, &report->wrench);
}

void rf_depth_limit_rt(const rf_coupling_settings *set, const rf_pose *manipulandum,
                       const rf_pose *before, const rf_coupling_load *load, rf_depth_limit *limit,
                       rf_coupling_state *state, double *velocity, rf_coupling_report *report) {
  const double most = set->max_depth_m, depth = load->depth_m;
  if (!isfinite(most)) {
    limit->begun = false;
    return;
  }
  if (!limit->begun) {
    memset(limit, 0, sizeof *limit);
    limit->taken_m = INFINITY;
    limit->trust_m = most;
  }
  if (limit->begun && !limit->returned && depth > fmax(TAKEN * most, limit->taken_m)) {
    limit->returned = true;
    limit->arrived = false;
    limit->kind = limit->kind == TRANSLATE ? FOLLOW : limit->kind + 1;
    if (limit->kind == FOLLOW) limit->trust_m *= 0.5;
    if (limit->trust_m < SHORT * most) {
      limit->trust_m = most;
      state->share = 1.0;
    }
    set_pose(set, manipulandum, before, &limit->safe, state, report);
    if (velocity) memset(velocity, 0, 6 * sizeof *velocity);
    return;
  }
  if (!limit->returned) limit->trust_m = fmin(2.0 * limit->trust_m, most);
  if (limit->returned) limit->taken_m += depth - limit->safe_depth_m;
  limit->taken_m = fmax(TAKEN * most, fmin(limit->taken_m, depth + UNEVEN * most));
  if (limit->arrived || !(depth > RELIEVED * most)) limit->kind = FOLLOW;
  limit->begun = true;
  limit->returned = false;
  limit->safe = *before;
  limit->safe_depth_m = depth;

  const rf_pose *to = limit->kind == FOLLOW ? &state->object : manipulandum;
  double move[6] = {0};
  for (int i = 0; i < 3; ++i) move[i] = to->position_m[i] - before->position_m[i];
  if (limit->kind != TRANSLATE)
    rf_quat_rotation_between(before->quaternion, to->quaternion, move + 3);
  const double travel = rf_vec3_length(move) + set->reach_m * rf_vec3_length(move + 3);
  const double longest = fmin(limit->trust_m, rf_travel_left(most, depth)) + load->clearance_m;
  limit->arrived = limit->kind != FOLLOW && !(travel > longest);
  if (!(travel > longest) && limit->kind == FOLLOW) return;
  if (travel > longest)
    for (int i = 0; i < 6; ++i) move[i] *= longest / travel;
  const rf_pose next = rf_moved(before, move);
  set_pose(set, manipulandum, before, &next, state, report);
  for (int i = 0; velocity && i < 6; ++i)
    velocity[i] *= limit->kind == FOLLOW ? longest / travel : 0.0;
}
