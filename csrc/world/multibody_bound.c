#include "world/multibody_bound.h"

#include <math.h>
#include <string.h>

#include "linalg/vector.h"

typedef struct sums {
  double matrix[4], linear[2], stored;
} sums;

static double value(const double a[4], const double b[2], const double x[2]) {
  return 0.5 * (a[0] * x[0] * x[0] + (a[1] + a[2]) * x[0] * x[1] + a[3] * x[1] * x[1]) +
         b[0] * x[0] + b[1] * x[1];
}

// Minimum of a x^2 / 2 + b x in 0 to 1.
static double least(double a, double b) {
  const double x = -b / a;
  if (isfinite(x) && a > 0.0) return fmin(1.0, fmax(0.0, x));
  return b < 0.0 ? 1.0 : 0.0;
}

// Writes x and y, 0 <= y <= x <= 1, at the minimum of `value`; a is positive semi-definite.
static void least_parts(const double a[4], const double b[2], double out[2]) {
  const double cross = 0.5 * (a[1] + a[2]);
  const double determinant = a[0] * a[3] - cross * cross;
  const double x = (cross * b[1] - a[3] * b[0]) / determinant;
  const double y = (cross * b[0] - a[0] * b[1]) / determinant;
  const double both = least(a[0] + 2.0 * cross + a[3], b[0] + b[1]);
  // the minima on the edges of the triangle
  const double edges[3][2] = {
      {least(a[0], b[0]), 0.0}, {both, both}, {1.0, least(a[3], b[1] + cross)}};
  if (determinant > 0.0 && y >= 0.0 && y <= x && x <= 1.0) {
    out[0] = x;
    out[1] = y;
    return;
  }
  memcpy(out, edges[0], sizeof edges[0]);
  for (int k = 1; k < 3; ++k)
    if (value(a, b, edges[k]) < value(a, b, out)) memcpy(out, edges[k], sizeof edges[k]);
}

// All of the forces if they add no energy, as of a solve that ended a little early.
static void choose_parts(const sums *d, double out[2]) {
  out[0] = out[1] = 1.0;
  if (!(value(d->matrix, d->linear, out) <= d->stored)) least_parts(d->matrix, d->linear, out);
}

// Sums the forces of pairs on a body into a slot, and the displacement by them.
static void respond(rf_multibody_node *n, rf_pair_rows *const *pairs, double *force, double *way) {
  memset(force, 0, (size_t)n->size * sizeof *force);
  rf_multibody_node_gather_rt(n, pairs, force);
  rf_multibody_node_correct_rt(n, force, way);
}

void rf_multibody_bound_begin(int32_t n_nodes, rf_multibody_node *const *nodes) {
  for (int32_t k = 0; k < n_nodes; ++k) {
    rf_multibody_node *n = nodes[k];
    rf_multibody_node_correct_rt(n, n->elastic, n->step);
    for (int32_t i = 0; i < n->size; ++i) n->displacement[i] = n->base[i] + n->step[i];
  }
}

double rf_multibody_bound_weigh(double contact_damping, int32_t n_nodes,
                                rf_multibody_node *const *nodes, int32_t n_pairs,
                                rf_pair_rows *const *pairs, double part[2]) {
  sums d = {0};
  for (int32_t k = 0; k < n_pairs; ++k) {
    rf_pair_rows_springs_rt(pairs[k], contact_damping, d.matrix, d.linear, &d.stored);
    rf_pair_rows_reduce_rt(pairs[k], 1.0, 0.0);
  }
  for (int32_t k = 0; k < n_nodes; ++k)
    respond(nodes[k], pairs, nodes[k]->direction, nodes[k]->image);
  for (int32_t k = 0; k < n_pairs; ++k) rf_pair_rows_reduce_rt(pairs[k], 0.0, 1.0);
  for (int32_t k = 0; k < n_nodes; ++k) {
    rf_multibody_node *n = nodes[k];
    respond(n, pairs, n->moved, n->product);
    const double *forces[2] = {n->direction, n->moved}, *ways[2] = {n->image, n->product};
    for (int a = 0; a < 2; ++a) {
      d.linear[a] += rf_dot_padded(n->size, forces[a], n->displacement);
      for (int b = 0; b < 2; ++b) d.matrix[2 * a + b] += rf_dot_padded(n->size, forces[a], ways[b]);
    }
  }
  choose_parts(&d, part);
  return value(d.matrix, d.linear, part);
}

void rf_multibody_bound_apply(int32_t n_nodes, rf_multibody_node *const *nodes, int32_t n_pairs,
                              rf_pair_rows *const *pairs, const double part[2]) {
  for (int32_t k = 0; k < n_pairs; ++k) {
    rf_pair_rows_reduce_rt(pairs[k], part[0], part[1]);
    rf_pair_rows_limit_rt(pairs[k], part[0], part[1]);
  }
  for (int32_t k = 0; k < n_nodes; ++k) {
    rf_multibody_node *n = nodes[k];
    for (int32_t i = 0; i < n->size; ++i)
      n->displacement[i] += part[0] * n->image[i] + part[1] * n->product[i];
  }
}
