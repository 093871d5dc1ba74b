#include "world/multibody_dimple.h"

#include <math.h>
#include <string.h>

#include "linalg/dense_rt.h"
#include "world/multibody_node.h"

// S / c of the points of the step.
static void fill_matrix(rf_multibody_dimple *d, int32_t ld) {
  memset(d->matrix, 0, 3 * (size_t)d->n * (size_t)ld * sizeof *d->matrix);
  for (int32_t i = 0; i < d->n; ++i)
    for (int32_t j = 0; j <= i; ++j) {
      double block[9];
      rf_contact_local_between_rt(d->local, d->point[i], d->point[j], block);
      for (int k = 0; k < 3; ++k)
        for (int l = 0; l < 3; ++l) {
          const size_t row = 3 * (size_t)i + (size_t)k, column = 3 * (size_t)j + (size_t)l;
          d->matrix[row * (size_t)ld + column] = d->matrix[column * (size_t)ld + row] =
              block[3 * k + l] / d->damping;
        }
    }
}

static void multiply(const rf_multibody_node *n, const double *x, double *y) {
  const rf_multibody_dimple *d = n->dimple;
  memset(y, 0, (size_t)n->size * sizeof *y);
  for (int32_t i = 0; i < 3 * d->n; ++i)
    y[i] = rf_dot_padded(n->size, d->matrix + (size_t)i * (size_t)n->size, x);
}

void rf_multibody_dimple_place_rt(rf_multibody_node *n) {
  const rf_multibody_dimple *d = n->dimple;
  const rf_pair_dimple_forces last = rf_multibody_dimple_last_forces(d);
  const size_t bytes = (size_t)n->size * sizeof(double);
  fill_matrix(n->dimple, n->size);
  memset(n->base, 0, bytes);
  memset(n->inertia, 0, bytes);
  memset(n->elastic, 0, bytes);
  for (int32_t i = 0; i < d->n; ++i) {
    rf_pair_dimple_displacement_rt(&last, d->point[i], n->base + 3 * i);
    for (int k = 0; k < 3; ++k) n->base[3 * i + k] /= -d->damping;
  }
  for (int32_t i = 0; i < d->n_last; ++i) {
    const int32_t number = d->number[d->last[i]];
    if (number >= 0) memcpy(n->inertia + 3 * number, d->last_force + 3 * i, 3 * sizeof(double));
  }
  multiply(n, n->inertia, n->change);
  for (int32_t i = 0; i < n->size; ++i) n->displacement[i] = n->base[i] + n->change[i];
}

void rf_multibody_dimple_deform_rt(rf_multibody_dimple *d, const double *q) {
  const rf_point_tree *t = d->tree;
  if (q) rf_point_tree_pad_rt(t, q, d->row, d->bound);
  for (int32_t i = 0; i < t->n_points; ++i) {
    double inward[3];
    rf_point_tree_positions_rt(t, 1, &t->place[i], d->row, d->at + 3 * (size_t)i);
    rf_point_tree_normals_rt(t, 1, &t->place[i], d->row, inward);
    for (int k = 0; k < 3; ++k) d->outward[3 * (size_t)i + (size_t)k] = -inward[k];
  }
}

const rf_pair_dimple *rf_multibody_dimple_in_pair_rt(const rf_multibody_node *n, int32_t side,
                                                     rf_pair_rows *const *pairs) {
  const rf_multibody_side *s = &n->sides[side];
  return &pairs[s->pair]->dimple[s->side - 2];
}

void rf_multibody_dimple_enter_rt(rf_multibody_dimple *d, const rf_pair_dimple *of, int32_t i,
                                  const double axis[3], double root) {
  int32_t entry = d->own_first[d->n_own];
  for (int32_t c = i * of->corners; c < (i + 1) * of->corners; ++c) {
    if (of->point[c] < 0) continue;
    d->own_at[entry] = of->at[c];
    for (int k = 0; k < 3; ++k) d->own[3 * entry + k] = root * of->weight[c] * axis[k];
    ++entry;
  }
  d->own_first[++d->n_own] = entry;
}

// Enters axis e of row i.
static void enter_own(rf_multibody_dimple *d, const rf_pair_dimple *of, int32_t i, int e,
                      double stiffness) {
  rf_multibody_dimple_enter_rt(d, of, i, of->axes + 9 * (size_t)i + 3 * (size_t)e, sqrt(stiffness));
}

// The same rows as rf_pair_rows_add_own_rt.
static void enter_pair(rf_multibody_dimple *d, const rf_pair_dimple *of, const rf_pair_rows *t) {
  for (int32_t i = 0; i < t->n_rows; ++i) {
    const bool grips = t->friction.mu > 0.0;
    const double stiffness = grips ? rf_pair_friction_stiffness_rt(t, i) : 0.0;
    if (!grips || t->force[i] < 0.0) enter_own(d, of, i, 0, d->damping * t->stiff[i]);
    for (int e = 1; e < 3 && stiffness > 0.0; ++e) enter_own(d, of, i, e, stiffness);
  }
}

double rf_multibody_dimple_along_rt(const rf_multibody_dimple *d, int32_t i, const double *x) {
  double sum = 0.0;
  for (int32_t k = d->own_first[i]; k < d->own_first[i + 1]; ++k)
    sum += rf_vec3_dot(d->own + 3 * k, x + d->own_at[k]);
  return sum;
}

void rf_multibody_dimple_respond_rt(const rf_multibody_dimple *d, int32_t size, int32_t i,
                                    double *out) {
  memset(out, 0, (size_t)size * sizeof *out);
  for (int32_t k = d->own_first[i]; k < d->own_first[i + 1]; ++k) {
    const double *b = d->own + 3 * k, *rows = d->matrix + (size_t)d->own_at[k] * (size_t)size;
    for (int32_t j = 0; j < size; ++j)
      out[j] += b[0] * rows[j] + b[1] * rows[size + j] + b[2] * rows[2 * size + j];
  }
}

rf_status rf_multibody_dimple_begin_rt(rf_multibody_node *n, rf_pair_rows *const *pairs) {
  rf_multibody_dimple *d = n->dimple;
  d->n_own = 0;
  memset(n->elastic, 0, (size_t)n->size * sizeof *n->elastic);
  for (int32_t k = 0; k < n->n_sides && pairs; ++k)
    enter_pair(d, rf_multibody_dimple_in_pair_rt(n, k, pairs), pairs[n->sides[k].pair]);
  if (d->n_own == 0) return RF_OK;
  const int32_t ld = rf_dense_ld(d->n_own);
  memset(d->factor, 0, (size_t)ld * (size_t)ld * sizeof *d->factor);
  for (int32_t i = 0; i < d->n_own; ++i) {
    double *out = d->response + (size_t)i * (size_t)n->size;
    rf_multibody_dimple_respond_rt(d, n->size, i, out);
    for (int32_t j = 0; j <= i; ++j)
      d->factor[(size_t)j * (size_t)ld + (size_t)i] =
          rf_multibody_dimple_along_rt(d, j, out) + (i == j);
  }
  return rf_dense_cholesky_rt(d->simd, d->n_own, d->factor, ld) ? RF_OK : RF_ERR_DIVERGED;
}

void rf_multibody_dimple_gather_rt(const rf_multibody_node *n, rf_pair_rows *const *pairs,
                                   double *slot) {
  for (int32_t k = 0; k < n->n_sides; ++k) {
    const rf_pair_rows *t = pairs[n->sides[k].pair];
    const rf_pair_dimple *of = rf_multibody_dimple_in_pair_rt(n, k, pairs);
    for (int32_t i = 0; i < t->n_rows; ++i) {
      const double *axes = of->axes + 9 * (size_t)i, *pull = of->pull + 3 * (size_t)i;
      double force[3] = {0.0};
      for (int e = 0; e < 3; ++e)
        for (int l = 0; l < 3; ++l) force[l] += pull[e] * axes[3 * e + l];
      for (int32_t c = i * of->corners; c < (i + 1) * of->corners; ++c)
        for (int l = 0; l < 3 && of->point[c] >= 0; ++l)
          slot[of->at[c] + l] += of->weight[c] * force[l];
    }
  }
}

void rf_multibody_dimple_take_own_rt(const rf_multibody_dimple *d, const double *x, double *y) {
  for (int32_t i = 0; i < d->n_own; ++i) {
    const double along = rf_multibody_dimple_along_rt(d, i, x);
    for (int32_t k = d->own_first[i]; k < d->own_first[i + 1]; ++k)
      for (int l = 0; l < 3; ++l) y[d->own_at[k] + l] -= along * d->own[3 * k + l];
  }
}

double rf_multibody_dimple_weigh_rt(const rf_multibody_node *n, const double *r) {
  const rf_multibody_dimple *d = n->dimple;
  double sum = 0.0;
  for (int32_t i = 0; i < 3 * d->n; ++i)
    sum += r[i] * rf_dot_padded(n->size, d->matrix + (size_t)i * (size_t)n->size, r);
  return fmax(0.0, sum);
}

void rf_multibody_dimple_correct_rt(const rf_multibody_node *n, const double *r, double *z) {
  const rf_multibody_dimple *d = n->dimple;
  multiply(n, r, z);
  if (d->n_own == 0) return;
  memset(d->weight, 0, (size_t)rf_dense_ld(d->n_own) * sizeof *d->weight);
  for (int32_t i = 0; i < d->n_own; ++i) d->weight[i] = rf_multibody_dimple_along_rt(d, i, z);
  rf_dense_cholesky_solve_rt(d->simd, d->n_own, d->factor, rf_dense_ld(d->n_own), d->weight,
                             d->weight);
  for (int32_t i = 0; i < d->n_own; ++i) {
    const double *row = d->response + (size_t)i * (size_t)n->size;
    for (int32_t j = 0; j < n->size; ++j) z[j] -= d->weight[i] * row[j];
  }
}

void rf_multibody_dimple_finish_rt(const rf_multibody_node *n) {
  rf_multibody_dimple *d = n->dimple;
  d->n_last = 0;
  memset(d->known, 0, (size_t)d->local->n_points * sizeof *d->known);
  multiply(n, n->force, n->product);
  for (int32_t i = 0; i < d->n; ++i) {
    const double *force = n->force + 3 * i;
    d->known[d->point[i]] = true;
    for (int k = 0; k < 3; ++k) d->way[3 * d->point[i] + k] = d->damping * n->product[3 * i + k];
    if (rf_vec3_dot(force, force) == 0.0) continue;
    d->last[d->n_last] = d->point[i];
    memcpy(d->last_force + 3 * d->n_last, force, 3 * sizeof *force);
    ++d->n_last;
  }
}
