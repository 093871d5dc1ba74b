// Second order of a local compliance at the sites of a friction cycle (frictional.h).
//
// Displacements d are the gradient of the complementary energy W(f) of a dimple.  With its parts
// W2 = f . S f / 2 and W3 = C(g), g the forces along the directions (linalg/cubic.h), x = W3 / W2,
//
//   W = W2 (1 + x / (1 + (x / BOUND)^4)^(1/4)),
//
// which is W2 + W3 for small x, and has no more than BOUND beyond W2 under any forces.  Then
//
//   d = whole S f + part T(g, g) / 2,   part = (1 + (x / BOUND)^4)^(-5/4),
//   whole = 1 + part x (x / BOUND)^4.
//
// At points that bore forces in the last step, d is linearized there, by the derivative D = whole S
// + share part T(g_last, .), the factors kept.  The share is 1, or less where D might not be
// semidefinite, as on shells that are much denser than the elements.  Forces at rest do not depend
// on it.
#include <math.h>
#include <string.h>

#include "linalg/dense_rt.h"
#include "world/frictional.h"

static const double BOUND = 0.25;
static const double KEPT = 0.5;   // part of S that must keep D definite, along the directions
static const double LEAST = 0.1;  // share below which it is zero

static int32_t point_of(const rf_world *world, const rf_frictional_site *site) {
  return world->pair[site->pair]->contact->search.tree->point[site->place];
}

static const double *direction_of(const rf_frictional_dimple *d, int32_t point) {
  return d->local->direction + 3 * (int64_t)point;
}

// Adds a force at a point to the list, which ascends.
static void add(const rf_frictional_dimple *d, int32_t point, const double force[3]) {
  rf_frictional_second *s = d->second;
  const double along = rf_vec3_dot(force, direction_of(d, point));
  int32_t k = s->n;
  while (k > 0 && s->point[k - 1] > point) --k;
  if (k > 0 && s->point[k - 1] == point) {
    s->force[k - 1] += along;
    return;
  }
  for (int32_t i = s->n; i > k; --i) s->point[i] = s->point[i - 1], s->force[i] = s->force[i - 1];
  s->point[k] = point;
  s->force[k] = along;
  ++s->n;
}

// Computes the derivative of the second order at the points listed, and their displacements.
static void evaluate(const rf_frictional_dimple *d) {
  rf_frictional_second *s = d->second;
  ++s->lists;
  s->n_bearing = 0;
  rf_cubic_second_rt(d->local->second, s->n, s->point, s->force, false, s->near, s->matrix);
  for (int32_t i = 0; i < s->n; ++i) {
    const double *row = s->matrix + (int64_t)i * s->n;
    double sum = 0.0;
    for (int32_t j = 0; j < s->n; ++j) sum += row[j] * s->force[j];
    s->more[i] = 0.5 * sum;
    s->bearing[i] = s->force[i] != 0.0 ? s->n_bearing++ : -1;
    s->at[s->point[i]] = i;
    s->in[s->point[i]] = s->lists;
  }
}

void rf_frictional_second_begin_rt(rf_frictional *c, const rf_world *world,
                                   rf_frictional_dimple *d) {
  rf_frictional_second *s = d->second;
  double linear = 0.0, cubic = 0.0;
  s->n = 0;
  for (int32_t i = 0; i < c->n_sites; ++i) {
    const rf_frictional_site *site = &c->site[i];
    if (c->pair[site->pair].dimple != d || !(c->forces[3 * i] > 0.0)) continue;
    const double *force = rf_frictional_law_rt(world, site->pair)->of[site->place].force;
    double way[3];
    rf_frictional_linear_rt(d, point_of(world, site), way);
    linear += 0.5 * rf_vec3_dot(way, force);
    add(d, point_of(world, site), force);
  }
  evaluate(d);
  s->wide = rf_cubic_wide_rt(d->local->second, s->n, s->point, s->near);
  for (int32_t i = 0; i < s->n; ++i) cubic += s->force[i] * s->more[i] / 3.0;
  const double x = linear > 0.0 ? cubic / linear : 0.0, over = x / BOUND * (x / BOUND);
  const double root = sqrt(sqrt(1.0 + over * over));
  s->part = 1.0 / (root * (1.0 + over * over));
  s->whole = 1.0 + s->part * x * over * over;
  if (!(isfinite(s->whole) && isfinite(s->part))) s->whole = 1.0, s->part = 0.0;
}

void rf_frictional_second_move_rt(const rf_frictional_dimple *d, int32_t point, double out[3]) {
  const rf_frictional_second *s = d->second;
  const double *direction = direction_of(d, point);
  const double more = s->in[point] == s->lists ? s->part * s->more[s->at[point]] : 0.0;
  for (int k = 0; k < 3; ++k) out[k] = s->whole * out[k] + more * direction[k];
}

void rf_frictional_second_sites_rt(rf_frictional *c, const rf_world *world,
                                   rf_frictional_dimple *d) {
  d->second->n = 0;
  for (int32_t i = 0; i < c->n_sites; ++i) {
    const rf_frictional_site *site = &c->site[i];
    const double none[3] = {0.0, 0.0, 0.0};
    if (c->pair[site->pair].dimple == d)
      add(d, point_of(world, site), site->bore ? site->last.force : none);
  }
  evaluate(d);
}

void rf_frictional_second_note_rt(rf_frictional_dimple *d, int32_t p, int32_t q,
                                  const double block[9]) {
  rf_frictional_second *s = d->second;
  const double *a = direction_of(d, p), *b = direction_of(d, q);
  const int64_t i = s->bearing[s->at[p]], j = s->bearing[s->at[q]];
  double sum = 0.0;
  if (i < 0 || j < 0) return;
  for (int k = 0; k < 3; ++k) sum += a[k] * rf_vec3_dot(block + 3 * k, b);
  s->normal[i * s->n_bearing + j] = s->normal[j * s->n_bearing + i] = sum;
}

// Returns the largest share with which D is semidefinite, by halves.
static double share_of(const rf_frictional_second *s, double compliance) {
  const int32_t ld = rf_dense_ld(s->n_bearing);
  for (double share = 1.0; share > LEAST; share *= 0.5) {
    memset(s->root, 0, (size_t)ld * (size_t)ld * sizeof *s->root);
    for (int64_t i = 0; i < s->n; ++i)
      for (int64_t j = 0; j < s->n; ++j) {
        const int64_t a = s->bearing[i], b = s->bearing[j];
        if (a < 0 || b < 0) continue;
        const double own = s->normal[a * s->n_bearing + b] + (i == j ? compliance : 0.0);
        s->root[a * ld + b] = KEPT * own + share * s->part * s->matrix[i * s->n + j];
      }
    if (rf_dense_cholesky_rt(s->simd, s->n_bearing, s->root, ld)) return share;
  }
  return 0.0;
}

void rf_frictional_second_put_rt(rf_frictional *c, const rf_world *world, rf_frictional_dimple *d,
                                 const double *axes) {
  const rf_frictional_second *s = d->second;
  const double share = share_of(s, c->yielding);
  const size_t rows = 3 * (size_t)c->n_sites;
  double along[3 * RF_SITES_MOST];
  for (int32_t i = 0; i < c->n_sites; ++i) {
    rf_frictional_site *site = &c->site[i];
    if (c->pair[site->pair].dimple != d) continue;
    const int32_t p = point_of(world, site), at = s->at[p];
    const bool bears = s->bearing[at] >= 0;
    const double constant = (bears ? 1.0 - 2.0 * share : 1.0) * s->part * s->more[at];
    for (int k = 0; k < 3; ++k) {
      along[3 * i + k] = rf_vec3_dot(axes + 9 * i + 3 * k, direction_of(d, p));
      site->constant[k] = constant * along[3 * i + k];
    }
    for (int32_t j = 0; bears && j <= i; ++j) {
      if (c->pair[c->site[j].pair].dimple != d) continue;
      const int32_t q = s->at[point_of(world, &c->site[j])];
      if (s->bearing[q] < 0) continue;
      const double value = share * s->part * s->matrix[(int64_t)at * s->n + q];
      for (size_t k = 0; k < 9; ++k) {
        const size_t row = 3 * (size_t)i + k / 3, column = 3 * (size_t)j + k % 3;
        c->local_matrix[row * rows + column] += value * along[row] * along[column];
        if (i != j) c->local_matrix[column * rows + row] = c->local_matrix[row * rows + column];
      }
    }
  }
}
