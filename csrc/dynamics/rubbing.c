#include "dynamics/rubbing.h"

#include <string.h>

#include "dynamics/barrier_law.h"
#include "linalg/vec3.h"

static rf_barrier_slip law_of(const rf_rubbing *r, double slip) {
  return rf_barrier_slip_rt(rf_vec3_length(r->sliding), slip);
}

// sum w_i v_i
static void combine(const double w[4], const double v[4][3], double *out) {
  for (int c = 0; c < 3; ++c)
    out[c] = w[0] * v[0][c] + w[1] * v[1][c] + w[2] * v[2][c] + w[3] * v[3][c];
}

// Removes the part along n.
static void project(const double *n, double *u) {
  const double along = rf_vec3_dot(n, u);
  for (int c = 0; c < 3; ++c) u[c] -= along * n[c];
}

double rf_rubbing_evaluate(rf_rubbing *r, const double v[4][3], double slip, double *gradient) {
  combine(r->weight, v, r->sliding);
  project(r->normal, r->sliding);
  const rf_barrier_slip law = law_of(r, slip);
  for (int i = 0; i < 12; ++i)
    gradient[i] = r->weight[i / 3] * r->force * law.over * r->sliding[i % 3];
  return r->force * law.integral;
}

void rf_rubbing_force(const rf_rubbing *r, double slip, double out[3]) {
  const rf_barrier_slip law = law_of(r, slip);
  for (int c = 0; c < 3; ++c) out[c] = -r->force * law.over * r->sliding[c];
}

void rf_rubbing_linearize(const rf_rubbing *r, double slip, double rate, double *out) {
  const rf_barrier_slip law = law_of(r, slip);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j) {
      const int a = i % 3, b = j % 3;
      const double plane = (a == b) - r->normal[a] * r->normal[b];
      out[12 * i + j] = rate * r->force * r->weight[i / 3] * r->weight[j / 3] *
                        (law.over * plane + law.outer * r->sliding[a] * r->sliding[b]);
    }
}

// Derivative of h vbar along a change u of vbar.
static void differentiate(const rf_rubbing *r, const rf_barrier_slip *law, const double *u,
                          double *out) {
  const double along = law->outer * rf_vec3_dot(r->sliding, u);
  for (int c = 0; c < 3; ++c) out[c] = law->over * u[c] + along * r->sliding[c];
}

// out += (w (x) u) (w' (x) u')^T
static void add_product(const double w[4], const double *u, const double w_right[4],
                        const double *u_right, double *out) {
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j)
      out[12 * i + j] += w[i / 3] * u[i % 3] * w_right[j / 3] * u_right[j % 3];
}

void rf_rubbing_turn(const rf_rubbing *r, const rf_primitive_nearest *at, const double *slope,
                     const double v[4][3], double slip, double *out) {
  const rf_barrier_slip law = law_of(r, slip);
  const double *n = r->normal, *w = r->weight;
  double t[2][3], velocity[3], drag[3];
  combine(w, v, velocity);
  rf_primitive_tangents(at, t);
  rf_rubbing_force(r, slip, drag);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j)
      out[12 * i + j] = law.over * w[i / 3] * r->sliding[i % 3] * slope[j];
  for (int k = 0; k < 2; ++k) {
    const bool moving = k < at->moving;
    const double *moved = at->moved[k];
    double u[3], by_normal[3], by_weight[3];
    // n turns towards t_k: vbar changes by -(t_k . v) n - (n . v) t_k
    for (int c = 0; c < 3; ++c)
      u[c] = -rf_vec3_dot(t[k], velocity) * n[c] - rf_vec3_dot(n, velocity) * t[k][c];
    differentiate(r, &law, u, by_normal);
    const double turn = r->force * (moving ? -1.0 : 1.0 / at->distance);
    for (int c = 0; c < 3; ++c) by_normal[c] *= turn;
    if (!moving) {
      add_product(w, by_normal, w, t[k], out);
      continue;
    }
    add_product(w, by_normal, moved, n, out);
    combine(moved, v, u);
    project(n, u);
    differentiate(r, &law, u, by_weight);
    for (int c = 0; c < 3; ++c) by_weight[c] *= -r->force;
    // a_k + d c_k
    const double back[3] = {at->distance * n[0], at->distance * n[1], at->distance * n[2]};
    add_product(moved, drag, w, t[k], out);
    add_product(moved, drag, moved, back, out);
    add_product(w, by_weight, w, t[k], out);
    add_product(w, by_weight, moved, back, out);
  }
}
