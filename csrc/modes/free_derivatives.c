// Modal derivatives of free solids (B07 2.60).
//
// The system (K - lambda_i M) phi_ij = b_ij, b_ij = -(H : psi_j) psi_i, is singular and indefinite,
// with a different matrix for every i.  In the eigenvectors psi_s of K, however, it is diagonal:
//
//   phi_ij = sum_s psi_s (psi_s^T b_ij) / (lambda_s - lambda_i)   over lambda_s != lambda_i.
//
// The sum over the known s (rigid motions, the k modes and some extra ones above) is evaluated
// directly.  The rest of b lies in a space where K - lambda_i M is positive definite,
//
//   (1 - lambda_i A) x = K^+ b,   A = K^+ M with spectrum in (0, 1 / lambda_known),
//
// and the Lanczos process of A on K^+ b, in the metric of M, solves it in about ten steps.  The
// process does not depend on lambda_i: as b_ij = b_ji, one process serves phi_ij and phi_ji.
//
// MINRES on each system, as in the thesis, preconditioned by a factor of K + lambda_1 M, takes
// several times as many solves with the factor (experiments/free_derivatives_minres.py).
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "linalg/blas.h"
#include "linalg/convention.h"
#include "linalg/deflate.h"
#include "linalg/tall.h"
#include "linalg/vector.h"
#include "modes/modes.h"

enum {
  EXTRA_LEAST = 24,  // extra modes: this many, or
  EXTRA_FACTOR = 3,  // this multiple of the modes; each saves more solves than it costs
  AT_ONCE = 64,      // pairs solved together: the same for any number of threads
  STEPS_MOST = 500,  // limit of the Lanczos process; ten are usual
  SHIFTS = 2         // phi_ij and phi_ji
};
static const double TOLERANCE = 1e-11;      // residual of x relative to K^+ b, in the metric of M
static const double MODE_TOLERANCE = 1e-6;  // residual allowed for the given modes

// Known part of the spectrum.
typedef struct known {
  const rf_modes_solid *solid;
  const rf_eigen_problem *op;
  int32_t n, count;  // unknowns; known vectors: rigid motions, modes, extra ones
  double *vector;    // M-orthonormal                    (count, n)
  double *dual;      // M times vector                   (count, n)
  double *lambda;    // eigenvalues, 0 for rigid motions (count)
} known;

static size_t at(const known *s, int64_t vector) { return (size_t)s->n * (size_t)vector; }

// Computes A^+ b for loads without parts along the known vectors; the solution then has such parts
// by rounding only, which are removed.
static rf_status solve_deflated(const known *s, const rf_run *run, int32_t count, const double *x,
                                double *y, rf_error *err) {
  const rf_status st = s->op->solve(s->op->context, run, count, x, y, err);
  return st < 0 ? st : rf_deflate(run, s->n, s->count, s->vector, s->dual, count, y, err);
}

// The same for any loads, whose parts along the known vectors are removed.
static rf_status solve_beyond(void *context, const rf_run *run, int32_t count, const double *x,
                              double *y, rf_error *err) {
  const known *s = context;
  if (x != y) memcpy(y, x, at(s, count) * sizeof *y);
  const rf_status st = rf_deflate(run, s->n, s->count, s->dual, s->vector, count, y, err);
  return st < 0 ? st : solve_deflated(s, run, count, y, y, err);
}

static rf_status mass_of_known(void *context, const rf_run *run, int32_t count, const double *x,
                               double *y, rf_error *err) {
  const known *s = context;
  return s->op->mass(s->op->context, run, count, x, y, err);
}

// Computes the eigenvalues of the given modes; rejects vectors that are not modes.
static rf_status check_modes(known *s, const rf_run *run, int32_t k, rf_error *err) {
  rf_status st = RF_OK;
  const double *shape = s->vector + at(s, RF_RIGID), *dual = s->dual + at(s, RF_RIGID);
  double *y = NULL;
  RF_ALLOC(y, at(s, k));
  RF_TRY(s->op->solve(s->op->context, run, k, dual, y, err));
  for (int32_t j = 0; j < k; ++j) {
    const double *psi = shape + at(s, j), *yj = y + at(s, j);
    for (int32_t i = 0; i <= j; ++i) {
      const double product = rf_dot(s->n, dual + at(s, i), psi);
      if (fabs(product - (i == j)) <= MODE_TOLERANCE) continue;
      st = rf_fail(err, RF_ERR_ARG,
                   "modes %d and %d have the mass product %g; derivatives of a free solid need "
                   "mass-orthonormal modes, as linear_modes gives them",
                   (int)i, (int)j, product);
      goto done;
    }
    for (int32_t i = 0; i < RF_RIGID; ++i) {
      const double product = rf_dot(s->n, dual + at(s, j), s->vector + at(s, i));
      if (fabs(product) <= MODE_TOLERANCE) continue;
      st = rf_fail(err, RF_ERR_ARG,
                   "mode %d moves the solid rigidly; derivatives of a free solid need its elastic "
                   "modes alone",
                   (int)j);
      goto done;
    }
    const double lambda = 1.0 / rf_dot(s->n, dual + at(s, j), yj);
    double largest = 0.0, residual = 0.0;
    for (int32_t i = 0; i < s->n; ++i) {
      largest = fmax(largest, fabs(psi[i]));
      residual = fmax(residual, fabs(lambda * yj[i] - psi[i]));
    }
    if (!(residual <= MODE_TOLERANCE * largest)) {
      st = rf_fail(err, RF_ERR_ARG,
                   "mode %d is not an elastic mode of this solid (residual %.2g of its size); "
                   "derivatives of a free solid need its modes",
                   (int)j, residual / largest);
      goto done;
    }
    s->lambda[RF_RIGID + j] = lambda;
  }
done:
  rf_free(y);
  return st;
}

// Collects rigid motions, the given modes and extra ones, with their eigenvalues.
static rf_status gather_known(known *s, const rf_run *run, int32_t k, const double *shapes,
                              rf_free_report *report, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t beyond = s->n - RF_RIGID - k - 1,
                wanted = EXTRA_FACTOR * k > EXTRA_LEAST ? EXTRA_FACTOR * k : EXTRA_LEAST;
  const int32_t extra = wanted < beyond ? wanted : beyond > 0 ? beyond : 0;
  const int32_t first = RF_RIGID + k;
  RF_ALLOC(s->vector, at(s, first + extra));
  RF_ALLOC(s->dual, at(s, first + extra));
  RF_ALLOC(s->lambda, first + extra);
  memcpy(s->vector, rf_modes_solid_rigid(s->solid), at(s, RF_RIGID) * sizeof *s->vector);
  memcpy(s->vector + at(s, RF_RIGID), shapes, at(s, k) * sizeof *s->vector);
  RF_TRY(s->op->mass(s->op->context, run, first, s->vector, s->dual, err));
  RF_TRY(check_modes(s, run, k, err));
  s->count = first;
  report->extra_modes = extra;
  if (extra == 0) goto done;

  const rf_eigen_problem problem = {.n = s->n,
                                    .mass = mass_of_known,
                                    .solve = solve_beyond,
                                    .context = s,
                                    .null_space = first,
                                    .n_weights = s->op->n_weights,
                                    .weights = s->op->weights};
  const rf_eigen_settings set = {.k = extra};
  rf_eigen_report eigen;
  double *vector = s->vector + at(s, first);
  RF_TRY(rf_eigen_smallest(&problem, &set, run, s->lambda + first, vector, &eigen, err));
  RF_TRY(s->op->mass(s->op->context, run, extra, vector, s->dual + at(s, first), err));
  report->solves += eigen.solves;
  double highest = 0.0;
  for (int32_t j = RF_RIGID; j < first; ++j) highest = fmax(highest, s->lambda[j]);
  // an equal one completes a repeated eigenvalue cut by k
  if (s->lambda[first] < highest && !rf_same_cluster(s->lambda[first], highest)) {
    st = rf_fail(err, RF_ERR_ARG,
                 "the modes leave out a lower one (eigenvalue %g below %g); derivatives of a free "
                 "solid need the lowest k",
                 s->lambda[first], highest);
    goto done;
  }
  s->count = first + extra;
done:
  return st;
}

// A pair of modes i <= j.
typedef struct pair {
  int32_t i, j;
} pair;

// The Lanczos process of `count` pairs and the solutions for their two shifts.
typedef struct process {
  int32_t count;
  double *v, *before, *w, *mass;  // v_m, v_(m-1), the next one, M times v or w (AT_ONCE, n)
  double *p[SHIFTS], *x[SHIFTS];  // directions and solutions of each shift     (AT_ONCE, n)
  double alpha[AT_ONCE], beta[AT_ONCE];
  double eta[SHIFTS][AT_ONCE], zeta[SHIFTS][AT_ONCE];
  double start[AT_ONCE];  // norm of K^+ b
  bool done[SHIFTS][AT_ONCE];
} process;

// Updates x of one shift by direction m of its Lanczos process: conjugate gradients in terms of
// Lanczos vectors.  The matrix of the process is 1 - lambda T.
static void take_direction(const known *s, process *l, int shift, int32_t c, double lambda,
                           int32_t step) {
  double *p = l->p[shift] + at(s, c), *x = l->x[shift] + at(s, c);
  const double *v = l->v + at(s, c);
  const double diagonal = 1.0 - lambda * l->alpha[c], off = -lambda * l->beta[c];
  double *eta = &l->eta[shift][c], *zeta = &l->zeta[shift][c];
  if (step == 0) {
    *eta = diagonal;
    *zeta = l->start[c];
  } else {
    const double factor = off / *eta;
    *eta = diagonal - off * factor;
    *zeta *= -factor;
  }
  const double scale = 1.0 / *eta;
  for (int32_t a = 0; a < s->n; ++a) {
    p[a] = (v[a] - (step == 0 ? 0.0 : off) * p[a]) * scale;
    x[a] += *zeta * p[a];
  }
}

static double shift_of(const known *s, const pair *p, int shift) {
  return s->lambda[RF_RIGID + (shift == 0 ? p->i : p->j)];
}

static void scale_vector(int32_t n, double factor, double *x) {
  for (int32_t a = 0; a < n; ++a) x[a] *= factor;
}

// A task is one step of the process for one pair.
typedef struct stage {
  const known *known;
  const pair *pairs;
  process *process;
  int32_t step;
} stage;

// Sets v and mass from K^+ b and M times it.
static rf_status begin_pair(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const stage *t = context;
  const known *s = t->known;
  process *l = t->process;
  const int32_t c = (int32_t)task;
  double *v = l->v + at(s, c), *mass = l->mass + at(s, c);
  l->start[c] = sqrt(fmax(rf_dot(s->n, v, mass), 0.0));
  const bool nothing = !(l->start[c] > 0.0);
  for (int shift = 0; shift < SHIFTS; ++shift) {
    memset(l->x[shift] + at(s, c), 0, at(s, 1) * sizeof *l->x[shift]);
    l->done[shift][c] = nothing || (shift == 1 && t->pairs[c].i == t->pairs[c].j);
  }
  const double scale = nothing ? 0.0 : 1.0 / l->start[c];
  scale_vector(s->n, scale, v);
  scale_vector(s->n, scale, mass);
  return RF_OK;
}

// Computes w = A v less its parts along v and the previous vector; sets alpha.
static rf_status orthogonalize_pair(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker, (void)err;
  const stage *t = context;
  const known *s = t->known;
  process *l = t->process;
  const int32_t c = (int32_t)task;
  double *w = l->w + at(s, c);
  const double *v = l->v + at(s, c), *before = l->before + at(s, c);
  const double alpha = rf_dot(s->n, w, l->mass + at(s, c)), beta = t->step == 0 ? 0.0 : l->beta[c];
  for (int32_t a = 0; a < s->n; ++a) w[a] -= alpha * v[a] + beta * before[a];
  l->alpha[c] = alpha;
  return RF_OK;
}

// Updates the solutions by v; w, with mass = M w, becomes the next v; beta is its length before
// normalisation.
static rf_status finish_pair(void *context, int64_t task, int worker, rf_error *err) {
  (void)worker;
  const stage *t = context;
  const known *s = t->known;
  process *l = t->process;
  const int32_t c = (int32_t)task;
  double *w = l->w + at(s, c), *mass = l->mass + at(s, c);
  const double beta = sqrt(fmax(rf_dot(s->n, w, mass), 0.0));
  for (int shift = 0; shift < SHIFTS; ++shift) {
    if (l->done[shift][c]) continue;
    const double lambda = shift_of(s, &t->pairs[c], shift);
    take_direction(s, l, shift, c, lambda, t->step);
    if (!(l->eta[shift][c] > 0.0))
      return rf_fail(err, RF_ERR_SINGULAR,
                     "K - lambda M is not positive definite beyond the known modes (modes %d and "
                     "%d)",
                     (int)t->pairs[c].i, (int)t->pairs[c].j);
    const double residual = fabs(lambda * beta * l->zeta[shift][c] / l->eta[shift][c]);
    l->done[shift][c] = residual <= TOLERANCE * l->start[c];
  }
  l->beta[c] = beta;
  const double scale = beta > 0.0 ? 1.0 / beta : 0.0;
  scale_vector(s->n, scale, w);
  scale_vector(s->n, scale, mass);
  return RF_OK;
}

static bool all_done(const process *l) {
  for (int shift = 0; shift < SHIFTS; ++shift)
    for (int32_t c = 0; c < l->count; ++c)
      if (!l->done[shift][c]) return false;
  return true;
}

// Computes x[shift] = (1 - lambda A)^-1 K^+ b for the pairs; b (count, n) is in l->w and is
// overwritten.
static rf_status solve_pairs(known *s, const rf_run *run, const pair *pairs, process *l,
                             rf_free_report *report, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t count = l->count;
  stage t = {s, pairs, l, 0};
  RF_TRY(solve_beyond(s, run, count, l->w, l->v, err));
  RF_TRY(s->op->mass(s->op->context, run, count, l->v, l->mass, err));
  RF_TRY(rf_run_tasks(run, count, 0, begin_pair, &t, err));
  report->solves += count;
  for (; !all_done(l); ++t.step) {
    if (t.step == STEPS_MOST)
      return rf_fail(err, RF_ERR_NO_CONVERGENCE,
                     "derivatives of modes %d to %d did not converge in %d steps", (int)pairs[0].j,
                     (int)pairs[count - 1].j, STEPS_MOST);
    RF_TRY(solve_deflated(s, run, count, l->mass, l->w, err));
    RF_TRY(rf_run_tasks(run, count, 0, orthogonalize_pair, &t, err));
    RF_TRY(s->op->mass(s->op->context, run, count, l->w, l->mass, err));
    RF_TRY(rf_run_tasks(run, count, 0, finish_pair, &t, err));
    report->solves += count;
    if (t.step >= report->iterations) report->iterations = t.step + 1;
    double *swap = l->before;
    l->before = l->v;
    l->v = l->w;
    l->w = swap;
  }
done:
  return st;
}

// Computes phi = x + the sum over the known vectors; parts (count of known, pairs) are psi_s^T b.
static rf_status add_known(const known *s, const rf_run *run, const pair *pairs, process *l,
                           int shift, const double *parts, double *factors, double *derivatives,
                           int32_t k, rf_error *err) {
  for (int32_t c = 0; c < l->count; ++c) {
    const double lambda = shift_of(s, &pairs[c], shift);
    for (int32_t e = 0; e < s->count; ++e) {
      const size_t place = (size_t)c * (size_t)s->count + (size_t)e;
      const bool same = rf_same_cluster(s->lambda[e], lambda);
      factors[place] = same ? 0.0 : parts[place] / (s->lambda[e] - lambda);
    }
  }
  rf_blas_serial_begin();
  const rf_status st =
      rf_tall_add(run, s->n, s->count, s->vector, l->count, factors, 1.0, 1.0, l->x[shift], err);
  rf_blas_serial_end();
  if (st < 0) return st;
  for (int32_t c = 0; c < l->count; ++c) {
    if (shift == 1 && pairs[c].i == pairs[c].j) continue;
    const int64_t row = shift == 0 ? pairs[c].i : pairs[c].j;
    const int64_t column = shift == 0 ? pairs[c].j : pairs[c].i;
    memcpy(derivatives + at(s, row * k + column), l->x[shift] + at(s, c),
           at(s, 1) * sizeof *derivatives);
  }
  return RF_OK;
}

rf_status rf_modes_free_derivatives(const rf_modes_solid *solid, const rf_run *run, int32_t k,
                                    const double *shapes, double *derivatives,
                                    rf_free_report *report, rf_error *err) {
  rf_status st = RF_OK;
  const rf_modes_system *system = rf_modes_solid_system(solid);
  known s = {.solid = solid, .op = &system->operators, .n = system->operators.n};
  process l = {0};
  pair *pairs = NULL;
  double *parts = NULL, *factors = NULL, *scratch = NULL;
  rf_free_report unused;
  if (!report) report = &unused;
  memset(report, 0, sizeof *report);
  const int64_t n_pairs = rf_modes_pairs(k);
  if (!(k >= 1 && k <= s.n - RF_RIGID))
    return rf_fail(err, RF_ERR_ARG,
                   "a free solid of %d degrees of freedom has 1 to %d modes, not %d", (int)s.n,
                   (int)s.n - RF_RIGID, (int)k);

  // a quarter of the progress for the known part, three quarters for the pairs
  rf_run_part part = {run, 0, n_pairs, 4 * n_pairs};
  rf_run inner = rf_run_of_part(&part);
  RF_TRY(gather_known(&s, &inner, k, shapes, report, err));

  // sorted by the higher mode, which determines the number of steps
  RF_ALLOC(pairs, n_pairs);
  int64_t place = 0;
  for (int32_t j = 0; j < k; ++j)
    for (int32_t i = 0; i <= j; ++i) pairs[place++] = (pair){i, j};

  RF_ALLOC(parts, (int64_t)s.count * AT_ONCE);
  RF_ALLOC(factors, (int64_t)s.count * AT_ONCE);
  RF_ALLOC(scratch, rf_tall_inner_scratch(s.n, s.count, AT_ONCE));
  RF_ALLOC(l.v, at(&s, AT_ONCE));
  RF_ALLOC(l.before, at(&s, AT_ONCE));
  RF_ALLOC(l.w, at(&s, AT_ONCE));
  RF_ALLOC(l.mass, at(&s, AT_ONCE));
  for (int shift = 0; shift < SHIFTS; ++shift) {
    RF_ALLOC(l.p[shift], at(&s, AT_ONCE));
    RF_ALLOC(l.x[shift], at(&s, AT_ONCE));
  }
  for (int64_t first = 0; first < n_pairs; first += l.count) {
    const double *a[AT_ONCE], *b[AT_ONCE];
    double *out[AT_ONCE];
    l.count = (int32_t)(n_pairs - first < AT_ONCE ? n_pairs - first : AT_ONCE);
    for (int32_t c = 0; c < l.count; ++c) {
      a[c] = shapes + at(&s, pairs[first + c].j);
      b[c] = shapes + at(&s, pairs[first + c].i);
      out[c] = l.w + at(&s, c);
    }
    // inner calls report no progress and only poll for a stop
    part = (rf_run_part){run, n_pairs + 3 * first, n_pairs + 3 * first, 4 * n_pairs};
    inner = rf_run_of_part(&part);
    RF_TRY(system->hessian(s.op->context, &inner, l.count, a, b, out, err));
    for (size_t i = 0; i < at(&s, l.count); ++i) l.w[i] = -l.w[i];
    rf_blas_serial_begin();
    st = rf_tall_inner(&inner, s.n, s.count, s.vector, l.count, l.w, scratch, parts, err);
    rf_blas_serial_end();
    if (st < 0) goto done;
    RF_TRY(solve_pairs(&s, &inner, pairs + first, &l, report, err));
    for (int shift = 0; shift < SHIFTS; ++shift)
      RF_TRY(add_known(&s, &inner, pairs + first, &l, shift, parts, factors, derivatives, k, err));
    RF_TRY(rf_run_progress(run, n_pairs + 3 * (first + l.count), 4 * n_pairs, err));
  }
done:
  rf_free(s.vector);
  rf_free(s.dual);
  rf_free(s.lambda);
  rf_free(pairs);
  rf_free(parts);
  rf_free(factors);
  rf_free(scratch);
  rf_free(l.v);
  rf_free(l.before);
  rf_free(l.w);
  rf_free(l.mass);
  for (int shift = 0; shift < SHIFTS; ++shift) {
    rf_free(l.p[shift]);
    rf_free(l.x[shift]);
  }
  return st;
}
