#include "world/multibody_joint.h"

#include <string.h>

#include "linalg/dense_rt.h"

static rf_simd simd_of(const rf_multibody_touching *of) {
  for (int32_t k = 0; k < of->n_nodes; ++k)
    if (of->nodes[k]->dimple) return of->nodes[k]->dimple->simd;
  return RF_SIMD_PLAIN;
}

// Writes b of a row on a body.
static void put_row(const rf_multibody_node *n, const rf_pair_rows *t, int side,
                    const rf_pair_spring *s, double *b) {
  const int32_t from = side ? t->side[0].size : 0;
  memset(b, 0, (size_t)n->size * sizeof *b);
  for (int e = 0; e < RF_PAIR_SPRINGS; ++e) {
    if (s->part[e] == 0.0) continue;
    const double *row = rf_pair_rows_row_rt(t, s->point, e) + from;
    for (int32_t i = 0; i < t->side[side].size; ++i) b[i] += s->part[e] * row[i];
  }
}

// Returns b . x of a row on a body.
static double row_along(const rf_pair_rows *t, int side, const rf_pair_spring *s, const double *x) {
  rf_pair_slots u = {0};
  u.side[side] = x;
  return rf_pair_springs_along_rt(t, s, &u);
}

// Enters the rows on a dimple, in their order.
static void enter_rows(const rf_multibody_joint *j, const rf_multibody_touching *of,
                       rf_multibody_node *n) {
  n->dimple->n_own = 0;
  for (int32_t k = 0; k < n->n_sides; ++k) {
    const int32_t pair = n->sides[k].pair;
    const rf_pair_dimple *side = rf_multibody_dimple_in_pair_rt(n, k, of->pairs);
    for (int32_t a = j->first[pair]; a < j->first[pair + 1]; ++a) {
      const rf_pair_spring *s = &j->spring[a];
      const double *axes = side->axes + 9 * (size_t)s->point;
      double axis[3] = {0.0};
      for (int e = 0; e < RF_PAIR_SPRINGS; ++e)
        for (int i = 0; i < 3 && s->part[e] != 0.0; ++i) axis[i] += s->part[e] * axes[3 * e + i];
      rf_multibody_dimple_enter_rt(n->dimple, side, s->point, axis, 1.0);
    }
  }
}

// Adds b_m . H^-1 b_a of a node for the rows m up to a; `own` is the number of a on a dimple.
static void add_column(rf_multibody_joint *j, const rf_multibody_touching *of, rf_multibody_node *n,
                       int32_t side, int32_t a, int32_t own) {
  const size_t ld = (size_t)rf_dense_ld(j->n);
  const rf_multibody_side *at = &n->sides[side];
  if (n->dimple) {
    rf_multibody_dimple_respond_rt(n->dimple, n->size, own, n->moved);
  } else {
    put_row(n, of->pairs[at->pair], at->side, &j->spring[a], n->product);
    rf_multibody_node_correct_rt(n, n->product, n->moved);
  }
  int32_t count = 0;
  for (int32_t k = 0; k <= side; ++k) {
    const int32_t pair = n->sides[k].pair, last = k == side ? a + 1 : j->first[pair + 1];
    for (int32_t m = j->first[pair]; m < last; ++m)
      j->factor[(size_t)m * ld + (size_t)a] +=
          n->dimple ? rf_multibody_dimple_along_rt(n->dimple, count++, n->moved)
                    : row_along(of->pairs[pair], n->sides[k].side, &j->spring[m], n->moved);
  }
}

// Adds B H^-1 B^T of a node, the upper triangle.
static void add_node(rf_multibody_joint *j, const rf_multibody_touching *of, rf_multibody_node *n) {
  int32_t own = 0;
  if (n->dimple) enter_rows(j, of, n);
  for (int32_t k = 0; k < n->n_sides; ++k) {
    const int32_t pair = n->sides[k].pair;
    for (int32_t a = j->first[pair]; a < j->first[pair + 1]; ++a) add_column(j, of, n, k, a, own++);
  }
  // the preconditioner of the node itself has no rows
  if (n->dimple) n->dimple->n_own = 0;
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
