#include "world/multibody_joint.h"

#include <string.h>

#include "linalg/dense_rt.h"

static rf_simd simd_of(const rf_multibody_touching *of) {
  for (int32_t k = 0; k < of->n_nodes; ++k)
    if (of->nodes[k]->dimple) return of->nodes[k]->dimple->simd;
  return RF_SIMD_PLAIN;
}

// The vectors of a pair that are zero but for one side.
static rf_pair_slots slots_with(int32_t side, const double *slot) {
  rf_pair_slots u = {0};
  if (side < 2)
    u.side[side] = slot;
  else
    u.dimple[side - 2] = slot;
  return u;
}

// Writes H^-1 b of a row, with b its part on a dimple.
static void respond_dimple(rf_multibody_node *n, const rf_pair_dimple *of, const rf_pair_spring *s,
                           double *out) {
  const double *axes = of->axes + 9 * (size_t)s->point;
  double axis[3] = {0.0};
  for (int e = 0; e < RF_PAIR_SPRINGS; ++e)
    for (int i = 0; i < 3 && s->part[e] != 0.0; ++i) axis[i] += s->part[e] * axes[3 * e + i];
  memset(out, 0, (size_t)n->size * sizeof *out);
  for (int32_t c = s->point * of->corners; c < (s->point + 1) * of->corners; ++c) {
    if (of->point[c] < 0) continue;
    double b[3];
    for (int i = 0; i < 3; ++i) b[i] = of->weight[c] * axis[i];
    rf_multibody_dimple_add_response_rt(n->dimple, n->size, of->at[c], b, out);
  }
}

// The same on a body.
static void respond_body(rf_multibody_node *n, const rf_pair_rows *t, int32_t side,
                         const rf_pair_spring *s, double *out) {
  const int32_t from = side ? t->side[0].size : 0;
  double *b = n->product;
  memset(b, 0, (size_t)n->size * sizeof *b);
  for (int e = 0; e < RF_PAIR_SPRINGS; ++e) {
    if (s->part[e] == 0.0) continue;
    const double *row = rf_pair_rows_row_rt(t, s->point, e) + from;
    for (int32_t i = 0; i < t->side[side].size; ++i) b[i] += s->part[e] * row[i];
  }
  rf_multibody_node_correct_rt(n, b, out);
}

// Adds B H^-1 B^T of a node, the upper triangle.
static void add_node(rf_multibody_joint *j, const rf_multibody_touching *of, rf_multibody_node *n) {
  const size_t ld = (size_t)rf_dense_ld(j->n);
  for (int32_t k = 0; k < n->n_sides; ++k) {
    const rf_multibody_side own = n->sides[k];
    const rf_pair_rows *t = of->pairs[own.pair];
    for (int32_t a = j->first[own.pair]; a < j->first[own.pair + 1]; ++a) {
      const rf_pair_slots moved = slots_with(own.side, n->moved);
      if (n->dimple)
        respond_dimple(n, &t->dimple[own.side - 2], &j->spring[a], n->moved);
      else
        respond_body(n, t, own.side, &j->spring[a], n->moved);
      for (int32_t m = 0; m < k; ++m) {
        const rf_multibody_side other = n->sides[m];
        const rf_pair_slots seen = slots_with(other.side, n->moved);
        for (int32_t b = j->first[other.pair]; b < j->first[other.pair + 1]; ++b)
          j->factor[(size_t)b * ld + (size_t)a] +=
              rf_pair_springs_along_rt(of->pairs[other.pair], &j->spring[b], &seen);
      }
      for (int32_t b = j->first[own.pair]; b <= a; ++b)
        j->factor[(size_t)b * ld + (size_t)a] += rf_pair_springs_along_rt(t, &j->spring[b], &moved);
    }
  }
}

bool rf_multibody_joint_renew_rt(rf_multibody_joint *j, const rf_multibody_touching *of,
                                 double contact_damping, bool secant) {
  j->n = 0;
  for (int32_t k = 0; k < of->n_pairs; ++k) {
    j->first[k] = j->n;
    j->n += rf_pair_springs_list_rt(of->pairs[k], contact_damping, secant, j->spring + j->n);
  }
  j->first[of->n_pairs] = j->n;
  if (j->n == 0) return true;
  const size_t ld = (size_t)rf_dense_ld(j->n);
  memset(j->factor, 0, ld * ld * sizeof *j->factor);
  for (int32_t k = 0; k < of->n_nodes; ++k) add_node(j, of, of->nodes[k]);
  for (size_t i = 0; i < (size_t)j->n; ++i) j->factor[i * (ld + 1)] += 1.0;
  return rf_dense_cholesky_rt(simd_of(of), j->n, j->factor, (int32_t)ld);
}

void rf_multibody_joint_correct_rt(rf_multibody_joint *j, const rf_multibody_touching *of) {
  const int32_t ld = rf_dense_ld(j->n);
  memset(j->weight, 0, (size_t)ld * sizeof *j->weight);
  for (int32_t k = 0; k < of->n_pairs; ++k) {
    const rf_pair_slots u = RF_MULTIBODY_SLOTS(of->all, of->dimples, of->pairs[k], corrected);
    for (int32_t a = j->first[k]; a < j->first[k + 1]; ++a)
      j->weight[a] = rf_pair_springs_along_rt(of->pairs[k], &j->spring[a], &u);
  }
  if (j->n > 0) rf_dense_cholesky_solve_rt(simd_of(of), j->n, j->factor, ld, j->weight, j->weight);
  for (int32_t k = 0; k < of->n_pairs; ++k)
    rf_pair_springs_load_rt(of->pairs[k], j->first[k + 1] - j->first[k], j->spring + j->first[k],
                            j->weight + j->first[k]);
  for (int32_t k = 0; k < of->n_nodes; ++k) {
    rf_multibody_node *n = of->nodes[k];
    memset(n->product, 0, (size_t)n->size * sizeof *n->product);
    rf_multibody_node_gather_rt(n, of->pairs, n->product);
    for (int32_t i = 0; i < n->size; ++i) n->product[i] = n->residual[i] - n->product[i];
    rf_multibody_node_correct_rt(n, n->product, n->corrected);
  }
}
