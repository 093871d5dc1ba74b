// Modes of the tangent at one moment, by Lanczos' method or one sweep.
#include <math.h>
#include <string.h>

#include "base/run.h"
#include "dynamics/modal_subspace.h"
#include "dynamics/newton.h"
#include "linalg/blas.h"
#include "linalg/eigen.h"
#include "linalg/tall.h"

static const double ENOUGH = 1e-9;      // residual of the modes of a step, relative
static const double DEPENDENT = 1e-13;  // square of a part of a vector that is rounding, relative
static const double SHIFT = 1e-9;  // of the mass over the ratio of diagonals: K may be singular
static const double GROWTH = 8.0, SHIFTS = 1e15;  // of the shift, for an indefinite K

rf_status rf_modal_subspace_diagonalize(rf_modal_subspace *s, int32_t k, double *matrix) {
  int info = 0;
  dsyevd_("V", "U", &k, matrix, &k, s->values, s->work, &s->n_work, s->int_work, &s->n_int_work,
          &info);
  return info == 0 ? RF_OK : RF_ERR_DIVERGED;
}

// C = A^T B of vectors (ka, n) and (kb, n).
static rf_status inner(rf_modal_subspace *s, int32_t ka, const double *a, int32_t kb,
                       const double *b, double *c) {
  return rf_tall_inner(rf_modal_subspace_run(s), s->blocks.n, ka, a, kb, b, s->tall, c,
                       s->blocks.system->err);
}

// ---- exactly

static rf_status apply_mass(void *context, const rf_run *run, int32_t count, const double *x,
                            double *y, rf_error *err) {
  (void)run, (void)err;
  return rf_blocks_mass(context, count, x, y);
}

static rf_status apply_inverse(void *context, const rf_run *run, int32_t count, const double *x,
                               double *y, rf_error *err) {
  (void)run, (void)err;
  return rf_blocks_solve(context, count, x, y);
}

typedef struct shifted {
  rf_system *system;
  double shift;
} shifted;

static rf_status factor(void *context, double of_mass) {
  shifted *k = context;
  k->shift = of_mass;
  return k->system->operations->factorize(k->system, of_mass, 1.0, 0.0, NULL);
}

rf_status rf_modal_subspace_solve(rf_modal_subspace *s) {
  rf_system *system = s->blocks.system;
  shifted tangent = {.system = system};
  const double unit = system->operations->stiffness_per_mass(system);
  rf_status st = isfinite(unit) && unit > 0.0 ? RF_OK : RF_ERR_DIVERGED;
  if (st >= 0) st = rf_newton_shift_rt(factor, &tangent, SHIFT * unit, GROWTH, SHIFTS * unit);
  if (st < 0) return st;
  const rf_eigen_problem problem = {.n = s->blocks.n,
                                    .mass = apply_mass,
                                    .solve = apply_inverse,
                                    .context = &s->blocks,
                                    .shift = -tangent.shift};
  const rf_eigen_settings set = {.k = s->most,
                                 .tolerance = s->modes == RF_SUBSPACE_EXACT ? ENOUGH : 0.0};
  st = rf_eigen_smallest(&problem, &set, rf_modal_subspace_run(s), s->values, s->shapes, NULL,
                         system->err);
  return st < 0 ? st : rf_blocks_mass(&s->blocks, s->most, s->shapes, s->loads);
}

// ---- one sweep

// Returns the largest sum of squares of a column of C, (columns, rows).
static double largest_square(int32_t columns, int32_t rows, const double *c) {
  double largest = 0.0;
  for (int32_t j = 0; j < columns; ++j) {
    double sum = 0.0;
    for (int32_t i = 0; i < rows; ++i) sum += c[j * rows + i] * c[j * rows + i];
    largest = fmax(largest, sum);
  }
  return largest;
}

// Adds `more` vectors W to the `all` that are orthonormal in the metric of M: orthogonal to them
// and to each other, scaled to 1, without those that depend on the others.
static rf_status add_vectors(rf_modal_subspace *s, int32_t more, const double *from, int32_t *all) {
  const rf_run *run = rf_modal_subspace_run(s);
  rf_error *err = s->blocks.system->err;
  const int64_t n = s->blocks.n;
  const int32_t k = *all;
  double *w = s->shapes + k * n, *load = s->loads + k * n;
  double scale = 1.0;
  memcpy(w, from, (size_t)more * (size_t)n * sizeof *w);
  rf_status st = rf_blocks_mass(&s->blocks, more, w, load);
  for (int pass = 0; pass < 2 && st >= 0; ++pass) {
    const int32_t count = pass ? *all - k : more;
    st = inner(s, k, s->loads, count, w, s->small);
    if (st >= 0 && pass == 0) scale = largest_square(count, k, s->small);
    if (st >= 0)
      st = rf_tall_add(run, (int32_t)n, k, s->shapes, count, s->small, -1.0, 1.0, w, err);
    if (st >= 0)
      st = rf_tall_add(run, (int32_t)n, k, s->loads, count, s->small, -1.0, 1.0, load, err);
    if (st >= 0) st = inner(s, count, w, count, load, s->turn);
    if (st >= 0) st = rf_modal_subspace_diagonalize(s, count, s->turn);
    if (st < 0) return st;
    int32_t kept = 0;
    for (int32_t j = 0; j < count; ++j) {
      if (!(s->values[j] > DEPENDENT * (pass ? 1.0 : scale))) continue;
      for (int32_t i = 0; i < count; ++i)
        s->small[kept * count + i] = s->turn[j * count + i] / sqrt(s->values[j]);
      ++kept;
    }
    *all = k + kept;
    if (kept == 0) return RF_OK;
    st = rf_tall_turn(run, (int32_t)n, count, w, kept, s->small, s->tall, err);
    if (st >= 0) st = rf_tall_turn(run, (int32_t)n, count, load, kept, s->small, s->tall, err);
  }
  return st;
}

// Returns the sine of the largest angle between the first s vectors before and after the turn, of
// which a column has k entries: the norm of the part from vectors behind them.
static double angle_of(rf_modal_subspace *s, int32_t k) {
  for (int32_t i = 0; i < s->s; ++i)
    for (int32_t j = 0; j < s->s; ++j) {
      double sum = 0.0;
      for (int32_t p = s->s; p < k; ++p) sum += s->turn[i * k + p] * s->turn[j * k + p];
      s->small[i * s->s + j] = sum;
    }
  if (rf_modal_subspace_diagonalize(s, s->s, s->small) < 0) return 1.0;
  return sqrt(fmax(0.0, s->values[s->s - 1]));
}

// Removes the rounding that thousands of turns would add up to: loads anew, and one step of
// Newton's method to X^T M X = 1.
static rf_status normalize(rf_modal_subspace *s) {
  const rf_run *run = rf_modal_subspace_run(s);
  rf_error *err = s->blocks.system->err;
  const int32_t k = s->most, n = s->blocks.n;
  rf_status st = rf_blocks_mass(&s->blocks, k, s->shapes, s->loads);
  if (st >= 0) st = inner(s, k, s->shapes, k, s->loads, s->small);
  if (st < 0) return st;
  for (int32_t i = 0; i < k * k; ++i)
    s->small[i] = (i % (k + 1) == 0 ? 1.5 : 0.0) - 0.5 * s->small[i];
  st = rf_tall_turn(run, n, k, s->shapes, k, s->small, s->tall, err);
  return st < 0 ? st : rf_tall_turn(run, n, k, s->loads, k, s->small, s->tall, err);
}

rf_status rf_modal_subspace_sweep(rf_modal_subspace *s) {
  const rf_run *run = rf_modal_subspace_run(s);
  rf_error *err = s->blocks.system->err;
  const int32_t k = s->most, n = s->blocks.n;
  int32_t all = k;
  rf_status st = add_vectors(s, k, s->responses, &all);
  if (st >= 0) st = add_vectors(s, k, s->earlier, &all);
  memcpy(s->earlier, s->shapes, (size_t)k * (size_t)n * sizeof *s->shapes);
  if (st >= 0) st = rf_blocks_stiffness(&s->blocks, all, s->shapes, s->images);
  if (st >= 0) st = inner(s, all, s->shapes, all, s->images, s->turn);
  if (st >= 0) st = rf_modal_subspace_diagonalize(s, all, s->turn);
  if (st >= 0) st = rf_tall_turn(run, n, all, s->shapes, k, s->turn, s->tall, err);
  if (st < 0) return st;
  memcpy(s->coordinates, s->values, (size_t)s->s * sizeof *s->values);
  s->drift = angle_of(s, all);
  memcpy(s->values, s->coordinates, (size_t)s->s * sizeof *s->values);
  return normalize(s);
}
