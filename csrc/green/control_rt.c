// Displacements, forces and energy of control elements for given parameters.
#include <math.h>
#include <stdalign.h>
#include <string.h>

#include "green/control.h"
#include "linalg/dense_rt.h"
#include "linalg/vec3.h"

enum { P = RF_CONTROL_PARAMETERS };

void rf_control_displacement_rt(const rf_control *control, const rf_control_state *state,
                                double *u) {
  if (control->single)
    RF_SIMD_CALL(control->simd, rf_control_combine_single, control, state, u);
  else
    RF_SIMD_CALL(control->simd, rf_control_combine_double, control, state, u);
}

// Forces on the parameters in the frame, h (ld): the linear ones, then those of products.
static void forces_in_frame(const rf_control *control, const rf_control_state *state, double *h) {
  alignas(64) double d[RF_CONTROL_MOST_FIELDS];
  memset(d, 0, (size_t)control->ld * sizeof *d);
  memcpy(d, state->acting, (size_t)control->n_parameters * sizeof *d);
  rf_dense_multiply_rt(control->simd, control->n_parameters, control->matrix, control->ld, d, h);
  for (int32_t k = 0; k < control->n_fields - control->n_parameters; ++k) {
    const double factor = state->coefficient[control->n_parameters + k];
    const double *const row = control->product_forces + (int64_t)k * control->ld;
    for (int32_t i = 0; i < control->ld; ++i) h[i] += factor * row[i];
  }
}

// Adds sum of r x f to m, with moments Z = sum f r^T.
static void add_moment(const double Z[9], double m[3]) {
  m[0] += Z[7] - Z[5];
  m[1] += Z[2] - Z[6];
  m[2] += Z[3] - Z[1];
}

// The vector l with (tr(S) 1 - S) l = m, m the moment of h about the deformed groups.
static void correction_of(const rf_control *control, const rf_control_state *state, const double *h,
                          double l[3]) {
  const double *const S = state->stretch, trace = S[0] + S[4] + S[8];
  double m[3] = {0}, G[9], inverse[9];
  for (int32_t g = 0; g < control->n_groups; ++g) {
    const double *const d = state->coefficient + P * g, *const own = h + P * g;
    double A[9], Z[9], place[3], couple[3];
    for (int i = 0; i < 9; ++i) A[i] = d[3 + i] + (i % 4 ? 0.0 : 1.0);
    for (int i = 0; i < 3; ++i) place[i] = control->group[g].mean[i] - control->centre[i] + d[i];
    rf_vec3_cross(place, own, couple);
    for (int i = 0; i < 3; ++i) m[i] += couple[i];
    rf_mat3_abt(own + 3, A, Z);
    add_moment(Z, m);
  }
  for (int i = 0; i < 9; ++i) G[i] = (i % 4 ? 0.0 : trace) - S[i];
  (void)rf_mat3_inverse_transposed(G, inverse);
  for (int i = 0; i < 3; ++i)
    l[i] = inverse[i] * m[0] + inverse[3 + i] * m[1] + inverse[6 + i] * m[2];
}

// Subtracts the forces l x (X - c) of every control node.
static void subtract_turn(const rf_control *control, const double l[3], double *h) {
  double skew[9] = {0};
  rf_vec3_add_skew(1.0, l, skew, 3);
  for (int32_t g = 0; g < control->n_groups; ++g) {
    const rf_control_group *group = control->group + g;
    double arm[3];
    rf_vec3_sub(group->mean, control->centre, arm);
    for (int i = 0; i < 3; ++i) {
      h[P * g + i] -= group->count * rf_vec3_dot(skew + 3 * i, arm);
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 3; ++k)
          h[P * g + 3 + 3 * i + j] -= skew[3 * i + k] * group->moment[3 * k + j];
    }
  }
}

void rf_control_forces_rt(const rf_control *control, const rf_control_state *state, bool consistent,
                          double *forces) {
  alignas(64) double h[RF_CONTROL_MOST_FIELDS];
  const double *const R = state->turn;
  forces_in_frame(control, state, h);
  if (consistent) {
    double l[3];
    correction_of(control, state, h, l);
    subtract_turn(control, l, h);
  }
  // T and the columns of M turn alike
  for (int32_t g = 0; g < control->n_handles; ++g) {
    const double *const own = h + P * g;
    double *const to = forces + P * g;
    for (int i = 0; i < 3; ++i) {
      to[i] = rf_vec3_dot(R + 3 * i, own);
      for (int j = 0; j < 3; ++j)
        to[3 + 3 * i + j] =
            R[3 * i] * own[3 + j] + R[3 * i + 1] * own[6 + j] + R[3 * i + 2] * own[9 + j];
    }
  }
}

double rf_control_energy_rt(const rf_control *control, const rf_control_state *state) {
  alignas(64) double h[RF_CONTROL_MOST_FIELDS];
  double energy = 0.0;
  forces_in_frame(control, state, h);
  for (int32_t i = 0; i < control->n_parameters; ++i) energy += 0.5 * h[i] * state->coefficient[i];
  return energy;
}

void rf_control_wrench_rt(const rf_control *control, const double *c, const double *forces,
                          double *wrench) {
  for (int32_t g = 0; g < control->n_handles; ++g) {
    double A[9], Z[9], *const to = wrench + 6 * g;
    for (int i = 0; i < 9; ++i) A[i] = c[P * g + 3 + i] + (i % 4 ? 0.0 : 1.0);
    rf_mat3_abt(forces + P * g + 3, A, Z);
    memcpy(to, forces + P * g, 3 * sizeof *to);
    memset(to + 3, 0, 3 * sizeof *to);
    add_moment(Z, to + 3);
  }
}
