#include "coupling/hold.h"

#include <math.h>
#include <string.h>

#include "coupling/step_rt.h"

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

void rf_hold_rt(const rf_coupling_settings *set, const rf_pose *manipulandum, const rf_pose *before,
                const rf_coupling_load *load, rf_hold *hold, rf_coupling_state *state,
                double *velocity, rf_coupling_report *report) {
  const double most = set->max_depth_m, depth = load->depth_m;
  if (!isfinite(most)) {
    hold->begun = false;
    return;
  }
  if (!hold->begun) {
    memset(hold, 0, sizeof *hold);
    hold->taken_m = INFINITY;
    hold->trust_m = most;
  }
  if (hold->begun && !hold->returned && depth > fmax(TAKEN * most, hold->taken_m)) {
    hold->returned = true;
    hold->arrived = false;
    hold->kind = hold->kind == TRANSLATE ? FOLLOW : hold->kind + 1;
    if (hold->kind == FOLLOW) hold->trust_m *= 0.5;
    if (hold->trust_m < SHORT * most) {
      hold->trust_m = most;
      state->share = 1.0;
    }
    set_pose(set, manipulandum, before, &hold->safe, state, report);
    if (velocity) memset(velocity, 0, 6 * sizeof *velocity);
    return;
  }
  if (!hold->returned) hold->trust_m = fmin(2.0 * hold->trust_m, most);
  if (hold->returned) hold->taken_m += depth - hold->safe_depth_m;
  hold->taken_m = fmax(TAKEN * most, fmin(hold->taken_m, depth + UNEVEN * most));
  if (hold->arrived || !(depth > RELIEVED * most)) hold->kind = FOLLOW;
  hold->begun = true;
  hold->returned = false;
  hold->safe = *before;
  hold->safe_depth_m = depth;

  const rf_pose *to = hold->kind == FOLLOW ? &state->object : manipulandum;
  double move[6] = {0};
  for (int i = 0; i < 3; ++i) move[i] = to->position_m[i] - before->position_m[i];
  if (hold->kind != TRANSLATE)
    rf_quat_rotation_between(before->quaternion, to->quaternion, move + 3);
  const double travel = rf_vec3_length(move) + set->reach_m * rf_vec3_length(move + 3);
  const double longest = fmin(hold->trust_m, rf_travel_left(most, depth)) + load->clearance_m;
  hold->arrived = hold->kind != FOLLOW && !(travel > longest);
  if (!(travel > longest) && hold->kind == FOLLOW) return;
  if (travel > longest)
    for (int i = 0; i < 6; ++i) move[i] *= longest / travel;
  const rf_pose next = rf_moved(before, move);
  set_pose(set, manipulandum, before, &next, state, report);
  for (int i = 0; velocity && i < 6; ++i)
    velocity[i] *= hold->kind == FOLLOW ? longest / travel : 0.0;
}
