// Frames of control elements: the best fit, and the mean frame of the series.
#include <math.h>
#include <string.h>

#include "green/control.h"
#include "linalg/pose.h"

enum { MEAN_STEPS = 64 };

static const double SMALL_TURN = 0.1;  // |M| below which a rotation is below that, rad
static const double RIGID = 1e-6;      // tolerance of the products of a rotation's columns
static const double SETTLED = 1e-15, FAR = 1e-10;  // of the mean rotation, rad

// The map A = 1 + M of a group; the fixed nodes stay.
static void map_of(const rf_control *control, const double *c, int32_t g, double A[9]) {
  for (int i = 0; i < 9; ++i)
    A[i] =
        (i % 4 ? 0.0 : 1.0) + (g < control->n_handles ? c[RF_CONTROL_PARAMETERS * g + 3 + i] : 0.0);
}

static double shift_of(const rf_control *control, const double *c, int32_t g, int i) {
  return g < control->n_handles ? c[RF_CONTROL_PARAMETERS * g + i] : 0.0;
}

static void to_frame(const rf_control *control, const double *c, int32_t g, const double R[9],
                     const double place[3], double d[RF_CONTROL_PARAMETERS]) {
  const rf_control_group *group = control->group + g;
  double A[9], way[3];
  map_of(control, c, g, A);
  for (int i = 0; i < 3; ++i) way[i] = group->mean[i] + shift_of(control, c, g, i) - place[i];
  for (int i = 0; i < 3; ++i)
    d[i] = R[i] * way[0] + R[3 + i] * way[1] + R[6 + i] * way[2] -
           (group->mean[i] - control->centre[i]);
  rf_mat3_atb(R, A, d + 3);
  for (int i = 0; i < 3; ++i) d[3 + 4 * i] -= 1.0;
}

// R^T A - 1 of a rotation, as a rotation vector.
static void vector_of(const double *M, double v[3]) {
  static const double unit[4] = {1.0};
  double R[9], q[4];
  for (int i = 0; i < 9; ++i) R[i] = M[i] + (i % 4 ? 0.0 : 1.0);
  rf_quat_of_matrix(R, q);
  rf_quat_rotation_between(unit, q, v);
}

// Turns the frame by the mean rotation of the groups in it; returns its angle.
static double turn_frame(const rf_control *control, const double *c, double R[9],
                         const double place[3]) {
  double moment[3] = {0}, w[3], q[4], turn[9], next[9];
  for (int32_t g = 0; g < control->n_groups; ++g) {
    const rf_control_group *group = control->group + g;
    const double *const J = group->moment;
    double d[RF_CONTROL_PARAMETERS], theta[3], arm[3], force[3];
    to_frame(control, c, g, R, place, d);
    vector_of(d + 3, theta);
    rf_vec3_sub(group->mean, control->centre, arm);
    rf_vec3_cross(arm, d, force);
    for (int i = 0; i < 3; ++i)
      moment[i] +=
          group->count * force[i] + (J[0] + J[4] + J[8]) * theta[i] - rf_vec3_dot(J + 3 * i, theta);
  }
  for (int i = 0; i < 3; ++i) w[i] = rf_vec3_dot(control->inverse + 3 * i, moment);
  rf_quat_of_rotation(w, q);
  rf_quat_to_matrix(q, turn);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      next[3 * i + j] =
          R[3 * i] * turn[j] + R[3 * i + 1] * turn[3 + j] + R[3 * i + 2] * turn[6 + j];
  memcpy(R, next, sizeof next);
  return rf_vec3_length(w);
}

static bool is_rotation(const double A[9]) {
  double square[9];
  rf_mat3_atb(A, A, square);
  for (int i = 0; i < 9; ++i)
    if (!(fabs(square[i] - (i % 4 ? 0.0 : 1.0)) <= RIGID)) return false;
  return rf_vec3_det(A, A + 3, A + 6) > 0.0;
}

static bool mean_frame(const rf_control *control, const double *c, rf_control_state *state) {
  double angle = INFINITY;
  for (int k = 0; k < MEAN_STEPS && angle > SETTLED; ++k)
    angle = turn_frame(control, c, state->turn, state->place);
  return angle <= FAR;
}

void rf_control_turn_term_rt(int n, const double theta[3], double term[9]) {
  for (int i = 0; i < 9; ++i) term[i] = i % 4 ? 0.0 : 1.0;
  for (int k = 1; k <= n; ++k) {
    double skew[9] = {0}, next[9] = {0};
    rf_vec3_add_skew(1.0 / k, theta, skew, 3);
    for (int i = 0; i < 9; ++i)
      for (int l = 0; l < 3; ++l) next[i] += term[i / 3 * 3 + l] * skew[3 * l + i % 3];
    memcpy(term, next, sizeof next);
  }
}

// Parameters of b_1 + ... + b_order for those of a rotation.
static void cut_off(int order, const double *d, double *out) {
  double theta[3], term[9];
  vector_of(d + 3, theta);
  memcpy(out, d, 3 * sizeof *out);
  memset(out + 3, 0, 9 * sizeof *out);
  for (int n = 1; n <= order; ++n) {
    rf_control_turn_term_rt(n, theta, term);
    for (int i = 0; i < 9; ++i) out[3 + i] += term[i];
  }
}

// Products of the relative coordinates, behind the parameters.
static void multiply_out(const rf_control *control, double *coefficient, double *radius) {
  const int32_t p = control->n_relative;
  double r[RF_CONTROL_MOST_FIELDS / 2] = {0}, s[RF_CONTROL_MOST_FIELDS / 2], first[6], arm[3],
                                    turned[3];
  double *to = coefficient + control->n_parameters, sum = 0.0;
  memcpy(first, coefficient, 3 * sizeof *first);
  vector_of(coefficient + 3, first + 3);
  for (int32_t g = 1; g < control->n_groups; ++g) {
    const double *const d = coefficient + RF_CONTROL_PARAMETERS * g;
    double *const own = r + 6 * (g - 1);
    vector_of(d + 3, own + 3);
    rf_vec3_sub(control->group[g].mean, control->group[0].mean, arm);
    rf_vec3_cross(first + 3, arm, turned);
    for (int i = 0; i < 3; ++i) {
      own[i] = d[i] - first[i] - turned[i];
      own[3 + i] -= first[3 + i];
    }
  }
  for (int32_t i = 0; i < p; ++i) {
    s[i] = 0.0;
    for (int32_t j = 0; j < p; ++j) s[i] += control->to_relative[i * p + j] * r[j];
  }
  for (int32_t i = 0; i < p; ++i)
    for (int32_t j = 0; j < p; ++j) sum += control->gauge[i * p + j] * fabs(s[i] * s[j]);
  *radius = 1.0 / sqrt(sum);
  for (int32_t i = 0; i < p; ++i)
    for (int32_t j = i; j < p; ++j) *to++ = s[i] * s[j];
  if (control->order < 3) return;
  for (int32_t i = 0; i < p; ++i)
    for (int32_t j = i; j < p; ++j)
      for (int32_t k = j; k < p; ++k) *to++ = s[i] * s[j] * s[k];
}

// B = sum (x - x_c)(X - c)^T over the control nodes, and x_c.
static void fit_of(const rf_control *control, const double *c, double place[3], double B[9]) {
  for (int i = 0; i < 3; ++i) {
    place[i] = control->centre[i];
    for (int32_t g = 0; g < control->n_handles; ++g)
      place[i] += shift_of(control, c, g, i) * control->group[g].count / control->count;
  }
  memset(B, 0, 9 * sizeof *B);
  for (int32_t g = 0; g < control->n_groups; ++g) {
    const rf_control_group *group = control->group + g;
    double A[9];
    map_of(control, c, g, A);
    for (int i = 0; i < 3; ++i) {
      const double way = group->mean[i] + shift_of(control, c, g, i) - place[i];
      for (int j = 0; j < 3; ++j) {
        B[3 * i + j] += group->count * way * (group->mean[j] - control->centre[j]);
        for (int k = 0; k < 3; ++k) B[3 * i + j] += A[3 * i + k] * group->moment[3 * k + j];
      }
    }
  }
}

rf_control_end rf_control_state_rt(const rf_control *control, rf_control_frame_kind kind,
                                   const double *c, rf_control_state *state) {
  double B[9];
  const size_t parameters = (size_t)control->n_parameters * sizeof *state->acting;
  state->radius = INFINITY;
  memset(state->coefficient, 0, (size_t)control->n_fields * sizeof *state->coefficient);
  if (kind == RF_CONTROL_REST) {
    for (int i = 0; i < 9; ++i) state->turn[i] = i % 4 ? 0.0 : 1.0;
    memcpy(state->place, control->centre, sizeof state->place);
    memcpy(state->coefficient, c, (size_t)(RF_CONTROL_PARAMETERS * control->n_handles) * sizeof *c);
    memcpy(state->acting, state->coefficient, parameters);
    return RF_CONTROL_DONE;
  }
  fit_of(control, c, state->place, B);
  if (!rf_pose_fit_rt(B, state->turn)) return RF_CONTROL_NO_FIT;
  if (control->order > 1) {
    for (state->handle = 0; state->handle < control->n_handles; ++state->handle) {
      double A[9];
      map_of(control, c, state->handle, A);
      if (!is_rotation(A)) return RF_CONTROL_NOT_RIGID;
    }
    if (!mean_frame(control, c, state)) return RF_CONTROL_FAR;
  }
  rf_mat3_atb(state->turn, B, state->stretch);
  for (int32_t g = 0; g < control->n_groups; ++g)
    to_frame(control, c, g, state->turn, state->place,
             state->coefficient + RF_CONTROL_PARAMETERS * g);
  memcpy(state->acting, state->coefficient, parameters);
  if (control->order == 1) return RF_CONTROL_DONE;
  for (int32_t g = 0; g < control->n_parameters; g += RF_CONTROL_PARAMETERS)
    cut_off(control->order, state->coefficient + g, state->acting + g);
  multiply_out(control, state->coefficient, &state->radius);
  return state->radius >= 1.0 ? RF_CONTROL_DONE : RF_CONTROL_BEYOND;
}

// True if no group turns by more than SMALL_TURN.
static bool is_small(const rf_control *control, const rf_control_state *state) {
  for (int32_t g = 0; g < control->n_groups; ++g) {
    const double *const M = state->coefficient + RF_CONTROL_PARAMETERS * g + 3;
    double square = 0.0;
    for (int i = 0; i < 9; ++i) square += M[i] * M[i];
    if (!(square < SMALL_TURN * SMALL_TURN)) return false;
  }
  return true;
}

// The rotation of a group in the frame, the one that fits its moved nodes best.
static void rotation_of(const rf_control *control, const rf_control_state *state, int32_t g,
                        double q[4]) {
  const double *const M = state->coefficient + RF_CONTROL_PARAMETERS * g + 3;
  const double *const J = control->group[g].moment;
  double A[9], B[9], R[9];
  q[0] = 1.0, q[1] = q[2] = q[3] = 0.0;
  for (int i = 0; i < 9; ++i) A[i] = M[i] + (i % 4 ? 0.0 : 1.0);
  rf_mat3_abt(A, J, B);  // J is symmetric
  if (rf_pose_fit_rt(B, R)) rf_quat_of_matrix(R, q);
}

rf_control_turns rf_control_turns_rt(const rf_control *control, const rf_control_state *state) {
  static const double unit[4] = {1.0};
  double q[RF_CONTROL_MOST_GROUPS + 1][4], v[3];
  rf_control_turns turns = {0};
  if (is_small(control, state)) return turns;
  for (int32_t g = 0; g < control->n_groups; ++g) {
    rotation_of(control, state, g, q[g]);
    rf_quat_rotation_between(unit, q[g], v);
    turns.most = fmax(turns.most, rf_vec3_length(v));
    for (int32_t h = 0; h < g; ++h) {
      rf_quat_rotation_between(q[h], q[g], v);
      const double apart = rf_vec3_length(v);
      if (apart <= turns.apart) continue;
      turns = (rf_control_turns){turns.most, apart, {h, g}};
    }
  }
  return turns;
}
