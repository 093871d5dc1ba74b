#include <math.h>
#include <string.h>

#include "linalg/solve6_rt.h"
#include "render/step_rt.h"

// Relief aims at a depth of half the largest one.  Depths are about proportional to the forces, so
// the factor (half / depth) would be right at once if the object were at rest.  The object lags
// behind, by the static damping; the root keeps the two from hunting.
static const double RELIEF_RATE = 0.5;
static const double LEAST_SHARE = 1e-6;
// part of the largest depth at which relief begins
static const double RELIEVED = 0.5;

// Computes force / r and the slope of a spring of stiffness k that saturates at `most`.
static void saturate(double k, double most, double r, double *over_r, double *slope) {
  const double linear = 0.5 * most / k;
  if (!(r > linear)) {
    *over_r = *slope = k;
    return;
  }
  const double rest = exp(-2.0 * k * (r - linear) / most);
  *over_r = most * (1.0 - 0.5 * rest) / r;
  *slope = k * rest;
}

// Computes p = vector(q_m q_s^-1), of the sign with a scalar >= 0, and returns that scalar.
static double turn_between(const double to[4], const double from[4], double p[3]) {
  const double back[4] = {from[0], -from[1], -from[2], -from[3]};
  double d[4];
  rf_quat_multiply(to, back, d);
  const double sign = d[0] < 0.0 ? -1.0 : 1.0;
  for (int i = 0; i < 3; ++i) p[i] = sign * d[i + 1];
  return sign * d[0];
}

// Computes force, torque and their gradient.  With `secant` the gradient is that of linear springs
// with the same force: where the profile is flat, tangents lead beyond the manipulandum, secants to
// it.
static void springs(const rf_coupling_settings *set, const rf_pose *manipulandum,
                    const rf_pose *object, bool secant, rf_coupling_wrench *out) {
  double e[3], p[3], over, slope;
  memset(out, 0, sizeof *out);
  rf_vec3_sub(manipulandum->position_m, object->position_m, e);
  const double r = rf_vec3_length(e);
  saturate(set->stiffness_n_per_m, set->max_force_n, r, &over, &slope);
  if (secant) slope = over;
  for (int i = 0; i < 3; ++i) {
    out->force_n[i] = over * e[i];
    out->linear_force_n[i] = set->stiffness_n_per_m * e[i];
    for (int j = 0; j < 3; ++j)
      out->gradient[6 * i + j] =
          (i == j ? -over : 0.0) + (r > 0.0 ? (over - slope) * (e[i] / r) * (e[j] / r) : 0.0);
  }
  const double s = turn_between(manipulandum->quaternion, object->quaternion, p);
  const double u = rf_vec3_length(p);
  saturate(set->torsion_nm, set->max_torque_nm, u, &over, &slope);
  if (secant) slope = over;
  for (int i = 0; i < 3; ++i) {
    out->torque_nm[i] = over * p[i];
    out->linear_torque_nm[i] = set->torsion_nm * p[i];
    for (int j = 0; j < 3; ++j)
      out->gradient[6 * (i + 3) + j + 3] =
          (i == j ? -0.5 * over * s : 0.0) -
          (u > 0.0 ? 0.5 * s * (slope - over) * (p[i] / u) * (p[j] / u) : 0.0);
  }
  rf_vec3_add_skew(-0.5 * over, p, out->gradient + 21, 6);
}

void rf_coupling_wrench_rt(const rf_coupling_settings *set, const rf_pose *manipulandum,
                           const rf_pose *object, rf_coupling_wrench *out) {
  springs(set, manipulandum, object, false, out);
}

// Scales the last motion by its part along the motion of the manipulandum, at most 1.  Damping
// relative to the manipulandum itself would generate energy: stiff contact would push the hand
// harder while it leaves than while it comes.
static void follow(const double last[3], const double led[3], double out[3]) {
  const double along = rf_vec3_dot(last, led), most = rf_vec3_dot(last, last);
  const double part = along > 0.0 ? fmin(along / most, 1.0) : 0.0;
  for (int i = 0; i < 3; ++i) out[i] = part * last[i];
}

// Solves the system of a cycle for the motion; torques and rotations are scaled by a length to N
// and m.  Returns the rank.
static int32_t solve(const rf_coupling_settings *set, const rf_coupling_load *load, double share,
                     const rf_coupling_wrench *w, const rf_pose *manipulandum,
                     const rf_pose *object, double move[6]) {
  const double length = sqrt(0.5 * set->torsion_nm / set->stiffness_n_per_m);
  double a[36], b[6], way[6], turn[3];
  for (int i = 0; i < 36; ++i) a[i] = share * w->gradient[i] + load->gradient[i];
  for (int i = 0; i < 3; ++i) {
    b[i] = -(share * w->force_n[i] + load->force_n[i]);
    b[i + 3] = -(share * w->torque_nm[i] + load->torque_nm[i]) / length;
  }
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) a[6 * i + j] /= (i < 3 ? 1.0 : length) * (j < 3 ? 1.0 : length);
  rf_quat_rotation_between(object->quaternion, manipulandum->quaternion, turn);
  for (int i = 0; i < 3; ++i) {
    way[i] = manipulandum->position_m[i] - object->position_m[i];
    way[i + 3] = length * turn[i];
  }
  if (share < 1.0) {
    // A small share leaves many directions without resistance.  A full motion to the manipulandum
    // along them would swamp the motion out of contact.  The full share is not limited: ordinary
    // contact feels as without a largest depth.
    const double travel = rf_vec3_length(way) + set->reach_m * rf_vec3_length(turn);
    const double most = rf_travel_left(set->max_depth_m, load->depth_m) + load->clearance_m;
    for (int i = 0; travel > most && i < 6; ++i) way[i] *= most / travel;
  }
  const double sure = set->degenerate * set->stiffness_n_per_m;
  const int32_t rank = rf_solve6_rt(a, b, set->degenerate, sure, way, move);
  for (int i = 3; i < 6; ++i) move[i] /= length;
  return rank;
}

double rf_coupling_relief_rt(const rf_coupling_settings *set, const rf_coupling_load *load,
                             double share) {
  if (!(load->depth_m > 0.0) || !isfinite(set->max_depth_m)) return 1.0;
  const double next = share * pow(RELIEVED * set->max_depth_m / load->depth_m, RELIEF_RATE);
  return next < 1.0 ? (next > LEAST_SHARE ? next : LEAST_SHARE) : 1.0;
}

rf_status rf_coupling_step_rt(const rf_coupling_settings *set, const rf_pose *manipulandum,
                              const rf_coupling_load *load, rf_coupling_state *state,
                              rf_coupling_report *report) {
  rf_coupling_wrench *w = &report->wrench;
  const double share = rf_coupling_relief_rt(set, load, state->share);
  springs(set, manipulandum, &state->object, true, w);
  double *move = report->move;
  report->rank = solve(set, load, share, w, manipulandum, &state->object, move);
  report->limited = rf_vec3_limit(move, set->max_step_m);
  report->limited |= rf_vec3_limit(move + 3, set->max_turn_rad);
  double kept[6] = {0};
  if (load->condensed) {
    follow(state->moved, load->led, kept);
    follow(state->moved + 3, load->led + 3, kept + 3);
  }
  for (int i = 0; i < 6; ++i) move[i] += set->damping * (kept[i] - move[i]);
  const rf_pose next = rf_moved(&state->object, move);
  if (report->rank < 0 || !rf_pose_usable_rt(&next)) {
    memset(move, 0, sizeof report->move);
    return RF_ERR_DIVERGED;
  }
  state->object = next;
  memcpy(state->moved, move, sizeof state->moved);
  state->share = share;
  rf_coupling_wrench_rt(set, manipulandum, &next, w);
  return RF_OK;
}

// Least stiffness in terms of that of the spring: the compliance stays bounded.
static double at_least(const rf_coupling_settings *set, double value, double of) {
  return fmax(value, set->degenerate * of);
}

static void slow(double most, double way[3], double *compliance, bool *limited) {
  const double length = rf_vec3_length(way);
  if (!rf_vec3_limit(way, most)) return;
  *limited = true;
  for (int i = 0; i < 3; ++i) compliance[7 * i] *= most / length;
}

void rf_coupling_free_rt(const rf_coupling_settings *set, const rf_pose *manipulandum,
                         const rf_coupling_load *load, const rf_coupling_state *state,
                         rf_coupling_free *out) {
  rf_coupling_wrench w;
  double kept[6] = {0};
  const double share = rf_coupling_relief_rt(set, load, state->share);
  springs(set, manipulandum, &state->object, true, &w);
  memset(out, 0, sizeof *out);
  out->share = share;
  for (int i = 0; i < 6; ++i) {
    // by secants both blocks are multiples of the unit matrix, but for an antisymmetric part
    const double whole = i < 3 ? set->stiffness_n_per_m : set->torsion_nm;
    const double c = 1.0 / at_least(set, -share * w.gradient[7 * i], whole);
    const double force = share * (i < 3 ? w.force_n[i] : w.torque_nm[i - 3]);
    out->way[i] = c * force;
    out->compliance[7 * i] = (1.0 - set->damping) * c;
  }
  // a cut motion is that of a stronger damper, which brakes what contact adds, too: the forces of
  // contact at rest are those of the springs
  slow(set->max_step_m, out->way, out->compliance, &out->limited);
  slow(set->max_turn_rad, out->way + 3, out->compliance + 21, &out->limited);
  if (load->condensed) {
    follow(state->moved, load->led, kept);
    follow(state->moved + 3, load->led + 3, kept + 3);
  }
  for (int i = 0; i < 6; ++i) out->way[i] += set->damping * (kept[i] - out->way[i]);
}

void rf_coupling_add_rt(const double matrix[36], const double wrench[6], const double to[6],
                        double out[6]) {
  for (int i = 0; i < 6; ++i) {
    out[i] = to[i];
    for (int j = 0; j < 6; ++j) out[i] += matrix[6 * i + j] * wrench[j];
  }
}

rf_status rf_coupling_finish_rt(const rf_coupling_settings *set, const rf_pose *manipulandum,
                                const rf_coupling_free *free, const double wrench[6],
                                rf_coupling_state *state, rf_coupling_report *report) {
  double *move = report->move;
  rf_coupling_add_rt(free->compliance, wrench, free->way, move);
  const rf_pose next = rf_moved(&state->object, move);
  report->rank = 6;
  report->limited = free->limited;
  if (!rf_pose_usable_rt(&next)) {
    report->rank = -1;
    memset(move, 0, sizeof report->move);
    return RF_ERR_DIVERGED;
  }
  state->object = next;
  memcpy(state->moved, move, sizeof state->moved);
  state->share = free->share;
  rf_coupling_wrench_rt(set, manipulandum, &next, &report->wrench);
  return RF_OK;
}
