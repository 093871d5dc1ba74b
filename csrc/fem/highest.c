// Largest eigenvalue of K x = lambda M x over the free DOFs.
//
// Value: Lanczos in the metric of M. The largest Ritz value approaches lambda from below; it is
// accepted when its residual is a tenth of the tolerance, and it has risen by no more than the
// tolerance since the test before, with two thirds of the vectors.  The residual bounds the
// distance to some eigenvalue, which may be one below the largest: values stay near those for some
// time, with residuals down to about the gap between them.  Vectors are not reorthogonalised:
// copies of a converged eigenvalue do no harm here.
//
// Bound (lumped mass): N = M^-1 |K|, entry by entry, is nonnegative; its spectral radius is at
// least lambda and, for any positive x, at most max_i (N x)_i / x_i (Collatz, Wielandt). The power
// method makes x, and thus the bound, sharp; x = 1 gives Gershgorin's bound.
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "fem/fem.h"
#include "fem/mass_solve.h"
#include "linalg/blas.h"
#include "linalg/vector.h"

enum {
  FIRST_CHECK = 16,  // Lanczos vectors before the first test; each later one has half as many more
  MOST_VECTORS = 16384,
  BOUND_SWEEPS = 24,  // steps of the power method
  ROWS_PER_TASK = 1024
};
static const double SAFETY = 0.1;           // residual over the tolerance
static const double LEAST_RESIDUAL = 1e-9;  // to which that applies: others could drown in rounding
static const double SMALLEST = 1e-12;       // smallest component of x, relative to the largest

// Removes forces on fixed nodes; those on constrained nodes go to their masters.
static void hold_fixed(const rf_solid *s, double *x) {
  rf_constraints_fold_rt(s->mesh->constraints, x);
  for (int32_t k = 0; k < s->n_fixed; ++k) memset(x + 3 * (int64_t)s->fixed[k], 0, 3 * sizeof *x);
}

// Returns the number of pivots x - T = L D L^T of the tridiagonal matrix that are not positive: of
// eigenvalues at or above x.  pivot: (k), nullable.
static int32_t above(int32_t k, const double *diagonal, const double *off, double x,
                     double *pivot) {
  int32_t count = 0;
  double d = 1.0;
  for (int32_t i = 0; i < k; ++i) {
    d = x - diagonal[i] - (i > 0 ? off[i - 1] * off[i - 1] / d : 0.0);
    if (d == 0.0) d = -DBL_MIN;
    count += !(d > 0.0);
    if (pivot) pivot[i] = d;
  }
  return count;
}

// Computes the largest eigenvalue of the tridiagonal matrix of k vectors, and a bound of its
// distance to an eigenvalue of the whole problem.  work: (2, k).
static void ritz(int32_t k, const double *diagonal, const double *off, double *work, double *value,
                 double *residual) {
  enum { BISECTIONS = 200, ITERATIONS = 3 };
  double low = diagonal[0], high = diagonal[0], *pivot = work, *y = work + k;
  for (int32_t i = 0; i < k; ++i) {
    const double beside = (i > 0 ? off[i - 1] : 0.0) + (i + 1 < k ? off[i] : 0.0);
    low = fmax(low, diagonal[i]);
    high = fmax(high, diagonal[i] + beside);
  }
  // rounding must not hide the eigenvalue
  high += DBL_EPSILON * fabs(high) + DBL_MIN;
  for (int step = 0; step < BISECTIONS; ++step) {
    const double middle = low + 0.5 * (high - low);
    if (!(middle > low && middle < high)) break;
    *(above(k, diagonal, off, middle, NULL) > 0 ? &low : &high) = middle;
  }
  *value = low + 0.5 * (high - low);
  // inverse iteration; high - T is positive definite, and the vector sought has no change of sign
  above(k, diagonal, off, high, pivot);
  for (int32_t i = 0; i < k; ++i) y[i] = 1.0;
  for (int iteration = 0; iteration < ITERATIONS; ++iteration) {
    for (int32_t i = 1; i < k; ++i) y[i] += off[i - 1] / pivot[i - 1] * y[i - 1];
    y[k - 1] /= pivot[k - 1];
    for (int32_t i = k - 1; i-- > 0;) y[i] = (y[i] + off[i] * y[i + 1]) / pivot[i];
    double largest = 0.0;
    for (int32_t i = 0; i < k; ++i) largest = fmax(largest, fabs(y[i]));
    for (int32_t i = 0; i < k; ++i) y[i] /= largest;
  }
  *residual = off[k - 1] * fabs(y[k - 1]) / rf_norm(k, y);
}

// Fills x with an asymmetric vector, the same on every machine.
static void start_vector(int64_t count, double *x) {
  uint64_t state = 20240229;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x[i] = (double)(state >> 40) / (double)(1 << 24) - 0.5;
  }
}

static rf_status estimate(const rf_solid *s, const rf_run *run, const double *blocks, bool lumped,
                          double tol, double *value, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t dofs = 3 * (int64_t)s->mesh->n_nodes, free_dofs = 3 * (int64_t)s->n_free;
  rf_solid_mass mass = {0};
  double *v = NULL, *mass_v = NULL, *before = NULL, *z = NULL;
  double *diagonal = NULL, *off = NULL, *work = NULL;
  RF_ALLOC(v, dofs);
  RF_ALLOC(mass_v, dofs);
  RF_ALLOC(before, dofs);
  RF_ALLOC(z, dofs);
  RF_ALLOC(diagonal, MOST_VECTORS);
  RF_ALLOC(off, MOST_VECTORS);
  RF_ALLOC(work, 2 * MOST_VECTORS);
  RF_TRY(rf_solid_mass_init(&mass, s, run, lumped, err));
  start_vector(dofs, z);
  hold_fixed(s, z);
  RF_TRY(rf_solid_mass_solve(&mass, run, z, v, err));
  double norm = sqrt(rf_dot(dofs, v, z)), residual = 0.0;
  for (int64_t d = 0; d < dofs; ++d) v[d] /= norm, mass_v[d] = z[d] / norm;

  double last = 0.0, earlier = 0.0;
  bool found = false;
  for (int32_t k = 0, check = FIRST_CHECK; k < MOST_VECTORS && !found; ++k) {
    RF_TRY(rf_run_progress(run, -1, -1, err));
    RF_TRY(rf_solid_block_multiply(s, run, blocks, 1, v, z, err));
    hold_fixed(s, z);
    for (int64_t d = 0; d < dofs; ++d) z[d] -= last * before[d];
    diagonal[k] = rf_dot(dofs, v, z);
    for (int64_t d = 0; d < dofs; ++d) z[d] -= diagonal[k] * mass_v[d];
    memcpy(before, mass_v, (size_t)dofs * sizeof *before);
    RF_TRY(rf_solid_mass_solve(&mass, run, z, v, err));
    last = off[k] = sqrt(fmax(rf_dot(dofs, v, z), 0.0));
    // the Krylov space is invariant, or the whole space
    const bool ended = !(last > DBL_EPSILON * fabs(diagonal[0])) || k + 1 >= free_dofs;
    if (ended || k + 1 == check || k + 1 == MOST_VECTORS) {
      check += check / 2;
      ritz(k + 1, diagonal, off, work, value, &residual);
      const double most = fmin(tol, fmax(SAFETY * tol, LEAST_RESIDUAL));
      found = ended || (residual <= most * fabs(*value) && *value - earlier <= tol * fabs(*value));
      earlier = *value;
    }
    for (int64_t d = 0; d < dofs; ++d) v[d] /= last, mass_v[d] = z[d] / last;
  }
  if (!found)
    st = rf_fail(err, RF_ERR_NO_CONVERGENCE,
                 "the highest frequency is not known to %.1g after %d iterations, but to %.1g: "
                 "ask for a larger tolerance",
                 0.5 * tol, MOST_VECTORS, 0.5 * residual / fabs(*value));
done:
  rf_free(v);
  rf_free(mass_v);
  rf_free(before);
  rf_free(z);
  rf_free(diagonal);
  rf_free(off);
  rf_free(work);
  rf_solid_mass_release(&mass);
  return st;
}

typedef struct sweep {
  const rf_solid *solid;
  const double *blocks, *x;
  double *y;  // M^-1 |K| x
} sweep;

static rf_status sweep_rows(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const sweep *w = context;
  const rf_solid *s = w->solid;
  const int32_t first = (int32_t)task * ROWS_PER_TASK;
  const int32_t end = s->n_free - first < ROWS_PER_TASK ? s->n_free : first + ROWS_PER_TASK;
  for (int32_t k = first; k < end; ++k) {
    const int32_t i = s->free[k];
    double sum[3] = {0};
    // x is zero at fixed nodes
    for (int32_t p = s->graph.ptr[i]; p < s->graph.ptr[i + 1]; ++p) {
      const double *x = w->x + 3 * (int64_t)s->graph.col[p], *B = w->blocks + 9 * (int64_t)p;
      for (int r = 0; r < 3; ++r)
        sum[r] += fabs(B[3 * r]) * x[0] + fabs(B[3 * r + 1]) * x[1] + fabs(B[3 * r + 2]) * x[2];
    }
    for (int r = 0; r < 3; ++r) w->y[3 * (int64_t)i + r] = sum[r] / s->lumped[i];
  }
  return RF_OK;
}

static rf_status bound(const rf_solid *s, const rf_run *run, const double *blocks, double *value,
                       rf_error *err) {
  rf_status st = RF_OK;
  const int64_t dofs = 3 * (int64_t)s->mesh->n_nodes;
  const int64_t tasks = (s->n_free + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
  double *x = NULL, *y = NULL;
  RF_ALLOC(x, dofs);
  RF_ALLOC(y, dofs);
  for (int32_t k = 0; k < s->n_free; ++k)
    for (int c = 0; c < 3; ++c) x[3 * (int64_t)s->free[k] + c] = 1.0;
  *value = INFINITY;
  for (int sweeps = 0; sweeps < BOUND_SWEEPS; ++sweeps) {
    sweep job = {.solid = s, .blocks = blocks, .x = x, .y = y};
    RF_TRY(rf_run_tasks(run, tasks, 0, sweep_rows, &job, err));
    double ratio = 0.0, largest = 0.0;
    for (int32_t k = 0; k < s->n_free; ++k)
      for (int c = 0; c < 3; ++c) {
        const int64_t d = 3 * (int64_t)s->free[k] + c;
        ratio = fmax(ratio, y[d] / x[d]);
        largest = fmax(largest, y[d]);
      }
    *value = fmin(*value, ratio);
    if (!(largest > 0.0)) break;
    for (int32_t k = 0; k < s->n_free; ++k)
      for (int c = 0; c < 3; ++c) {
        const int64_t d = 3 * (int64_t)s->free[k] + c;
        x[d] = fmax(y[d] / largest, SMALLEST);
      }
  }
  // allows for rounding of the sums
  *value *= 1.0 + 1e3 * DBL_EPSILON;
done:
  rf_free(x);
  rf_free(y);
  return st;
}

static rf_status check(const rf_solid *s, const double *blocks, rf_error *err) {
  if (s->n_free < 1)
    return rf_fail(err, RF_ERR_MESH, "all %d nodes are fixed: nothing can move", s->n_fixed);
  for (int64_t i = 0; i < 9 * (int64_t)s->graph.ptr[s->mesh->n_nodes]; ++i)
    if (!isfinite(blocks[i]))
      return rf_fail(err, RF_ERR_ARG, "q is so large that the stiffness is not finite");
  return RF_OK;
}

rf_status rf_solid_highest(const rf_solid *s, const rf_run *run, const double *blocks, bool lumped,
                           double tol, double *value, rf_error *err) {
  const rf_status st = check(s, blocks, err);
  return st < 0 ? st : estimate(s, run, blocks, lumped, tol, value, err);
}

rf_status rf_solid_highest_bound(const rf_solid *s, const rf_run *run, const double *blocks,
                                 double *value, rf_error *err) {
  const rf_status st = check(s, blocks, err);
  return st < 0 ? st : bound(s, run, blocks, value, err);
}
