// Two or three sparse matrices as a system, forces and coordinates of any kind: R = K x, or a law
// of the caller's.  The matrix of a step is factored when its factors change, which is once in most
// linear motions, or the tangent does.
#include "dynamics/system.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/cholesky.h"
#include "linalg/dense_rt.h"
#include "linalg/vector.h"

typedef struct matrices_system {
  rf_system base;
  const rf_matrices *model;
  const rf_csc *mass, *stiffness, *damping;  // lower triangles, borrowed; damping NULL: none
  rf_csc tangent;                            // of a law: the stiffness at x
  rf_csc lower;                              // of a solve, with the pattern of all three
  rf_cholesky *factor;
  double factored[3];        // factors of the three in it; NaN: none yet
  rf_cholesky *mass_factor;  // of explicit steps
  double *product;
} matrices_system;

static matrices_system *self(rf_system *s) { return (matrices_system *)s; }

static void release(rf_system *base) {
  matrices_system *s = self(base);
  rf_csc_free(&s->tangent);
  rf_csc_free(&s->lower);
  rf_cholesky_free(s->factor);
  rf_cholesky_free(s->mass_factor);
  rf_free(s->product);
  rf_free(s);
}

// Evaluates R; tangent and energy only where R is finite.
static rf_status evaluate_law(matrices_system *s, const double *x, bool tangent, double *energy,
                              double *force) {
  const rf_force_law *law = s->model->law;
  void *const of = s->model->law_self;
  rf_error *err = s->base.err;
  rf_status st = law->force(of, x, force, err);
  if (st < 0) return st;
  const bool defined = isfinite(rf_norm(s->base.n, force));
  if (defined && law->tangent && (tangent || s->base.damping_stiff > 0.0)) {
    s->factored[0] = NAN;
    st = law->tangent(of, x, s->tangent.val, err);
  }
  if (st < 0 || !energy || !law->energy) return st;
  *energy = INFINITY;
  return defined ? law->energy(of, x, energy, err) : st;
}

static rf_status evaluate(rf_system *base, const double *x, bool tangent, double *energy,
                          double *force) {
  matrices_system *s = self(base);
  if (s->model->law) return evaluate_law(s, x, tangent, energy, force);
  const rf_status st =
      rf_csc_symmetric_multiply(s->stiffness, base->run, 1, 1, x, force, base->err);
  if (st < 0 || !energy) return st;
  *energy = 0.0;
  for (int64_t i = 0; i < base->n; ++i) *energy += 0.5 * x[i] * force[i];
  return st;
}

// sum += factor A v
static rf_status add_product(matrices_system *s, double factor, const rf_csc *a, const double *v,
                             double *sum) {
  if (!a || factor == 0.0) return RF_OK;
  const rf_status st = rf_csc_symmetric_multiply(a, s->base.run, 1, 1, v, s->product, s->base.err);
  for (int64_t i = 0; i < s->base.n && st >= 0; ++i) sum[i] += factor * s->product[i];
  return st;
}

static rf_status balance(rf_system *base, const double *x, const double *v, const double *w,
                         const double *force, const double *load, double *out) {
  matrices_system *s = self(base);
  rf_status st = RF_OK;
  (void)x;
  for (int64_t i = 0; i < base->n; ++i) out[i] = force[i] - load[i];
  if (w) st = add_product(s, 1.0, s->mass, w, out);
  if (st >= 0) st = add_product(s, base->damping_stiff, s->stiffness, v, out);
  if (st >= 0) st = add_product(s, 1.0, s->damping, v, out);
  return st;
}

// Adds factor A to `lower`, whose pattern contains that of A.
static void add_matrix(double factor, const rf_csc *a, rf_csc *lower) {
  for (int32_t j = 0; a && j < a->cols; ++j) {
    int32_t to = lower->colptr[j];
    for (int32_t p = a->colptr[j]; p < a->colptr[j + 1]; ++p) {
      while (lower->rowind[to] < a->rowind[p]) ++to;
      lower->val[to] += factor * a->val[p];
    }
  }
}

static rf_status factorize(rf_system *base, double mass, double stiffness, double damping,
                           const double *added) {
  matrices_system *s = self(base);
  const double factors[3] = {mass, stiffness, damping};
  if (added) return RF_ERR_INTERNAL;
  if (memcmp(factors, s->factored, sizeof factors) == 0) return RF_OK;
  memset(s->lower.val, 0, (size_t)s->lower.colptr[s->lower.cols] * sizeof(double));
  add_matrix(mass, s->mass, &s->lower);
  add_matrix(stiffness, s->stiffness, &s->lower);
  add_matrix(damping, s->damping, &s->lower);
  s->factored[0] = NAN;
  const rf_status st = rf_cholesky_factorize(s->factor, base->run, &s->lower, NULL, base->err);
  if (st >= 0) memcpy(s->factored, factors, sizeof factors);
  return st;
}

static rf_status solve(rf_system *base, const double *b, double *x) {
  return rf_cholesky_solve(self(base)->factor, base->run, 1, b, x, base->err);
}

static rf_status mass_solve(rf_system *base, const double *b, double *x) {
  return rf_cholesky_solve(self(base)->mass_factor, base->run, 1, b, x, base->err);
}

static rf_status reserve(rf_system *base, int32_t most, rf_error *err) {
  (void)base, (void)most, (void)err;
  return RF_OK;
}

static rf_status mass_block(rf_system *base, int32_t count, const double *x, double *y) {
  return rf_csc_symmetric_multiply(self(base)->mass, base->run, 1, count, x, y, base->err);
}

static rf_status stiffness_block(rf_system *base, int32_t count, const double *x, double *y) {
  return rf_csc_symmetric_multiply(self(base)->stiffness, base->run, 1, count, x, y, base->err);
}

static rf_status solve_block(rf_system *base, int32_t count, const double *x, double *y) {
  return rf_cholesky_solve(self(base)->factor, base->run, count, x, y, base->err);
}

// Sums of diagonals.
static double stiffness_per_mass(const rf_system *base) {
  const matrices_system *s = (const matrices_system *)base;
  double sum[2] = {0.0, 0.0};
  for (int k = 0; k < 2; ++k) {
    const rf_csc *a = k ? s->mass : s->stiffness;
    for (int32_t j = 0; j < a->cols; ++j)
      for (int32_t p = a->colptr[j]; p < a->colptr[j + 1]; ++p)
        if (a->rowind[p] == j) sum[k] += fabs(a->val[p]);
  }
  return sum[0] / sum[1];
}

// Coordinates have no place in space.
static double farthest(const rf_system *base, const double *x) {
  (void)base, (void)x;
  return 0.0;
}

static rf_status multiply(rf_system *base, const double *x, double *out) {
  return stiffness_block(base, 1, x, out);
}

static const rf_system_blocks BLOCKS = {
    .reserve = reserve, .mass = mass_block, .stiffness = stiffness_block, .solve = solve_block};
static const rf_system_operations OPERATIONS = {.evaluate = evaluate,
                                                .balance = balance,
                                                .factorize = factorize,
                                                .solve = solve,
                                                .mass_solve = mass_solve,
                                                .farthest = farthest,
                                                .multiply = multiply,
                                                .blocks = &BLOCKS,
                                                .stiffness_per_mass = stiffness_per_mass};
static const rf_system_life LIFE = {.release = release};

// Column j of the union of the patterns into rows (nullable: count only); returns its length.
static int32_t merge_column(int32_t j, const rf_csc *const a[3], int32_t *rows) {
  int32_t at[3], n = 0;
  for (int k = 0; k < 3; ++k) at[k] = a[k] ? a[k]->colptr[j] : 0;
  for (;;) {
    int32_t next = INT32_MAX;
    for (int k = 0; k < 3; ++k)
      if (a[k] && at[k] < a[k]->colptr[j + 1] && a[k]->rowind[at[k]] < next)
        next = a[k]->rowind[at[k]];
    if (next == INT32_MAX) return n;
    if (rows) rows[n] = next;
    ++n;
    for (int k = 0; k < 3; ++k)
      if (a[k] && at[k] < a[k]->colptr[j + 1] && a[k]->rowind[at[k]] == next) ++at[k];
  }
}

// The tangent of a law: that of rest until it is evaluated.
static rf_status create_tangent(matrices_system *s, bool needed, rf_error *err) {
  const rf_csc *rest = s->stiffness;
  const rf_force_law *law = s->model->law;
  if (!law) return RF_OK;
  if (!law->tangent && needed)
    return rf_fail(
        err, RF_ERR_ARG,
        "system has an internal_force, but no tangent, which all steps need but those of "
        "CentralDifferences without stiffness damping");
  if (!law->tangent) return RF_OK;
  const rf_status st = rf_csc_copy(rest, &s->tangent, err);
  if (st >= 0) s->stiffness = &s->tangent;
  return st;
}

static rf_status create_pattern(matrices_system *s, rf_error *err) {
  const rf_csc *const all[3] = {s->mass, s->stiffness, s->damping};
  const int32_t n = (int32_t)s->base.n;
  int64_t entries = 0;
  for (int32_t j = 0; j < n; ++j) entries += merge_column(j, all, NULL);
  const rf_status st = rf_csc_create(n, n, entries, &s->lower, err);
  if (st < 0) return st;
  for (int32_t j = 0; j < n; ++j)
    s->lower.colptr[j + 1] =
        s->lower.colptr[j] + merge_column(j, all, s->lower.rowind + s->lower.colptr[j]);
  return st;
}

rf_status rf_system_matrices(const void *of, const rf_run *run, const rf_system_damping *damping,
                             rf_system_steps steps, rf_system **out, rf_error *err) {
  const bool explicit_steps = steps != RF_STEPS_IMPLICIT;
  const rf_matrices *model = of;
  const rf_csc *mass = &model->mass, *stiffness = &model->stiffness;
  const rf_csc *viscous = model->damping.cols ? &model->damping : NULL;
  rf_status st = RF_OK;
  matrices_system *s = NULL;
  const int32_t n = mass->cols;
  *out = NULL;
  const rf_csc *const all[3] = {mass, stiffness, viscous};
  for (int k = 0; k < 3; ++k)
    if (all[k] && !(all[k]->rows == n && all[k]->cols == n))
      return rf_fail(err, RF_ERR_ARG, "mass is %d x %d, but %s is %d x %d; they must be alike", n,
                     n, k == 1 ? "stiffness" : "damping_matrix", all[k]->rows, all[k]->cols);
  RF_TRY(rf_system_damping_check(damping, err));
  if (damping->inside_s > 0.0)
    return rf_fail(err, RF_ERR_ARG,
                   "implicit_damping is for a Solid, a ReducedSolid and a ProjectedSolid, got a "
                   "SecondOrderSystem: leave it out");
  RF_ALLOC(s, 1);
  s->base = (rf_system){.operations = &OPERATIONS,
                        .life = &LIFE,
                        .model = model,
                        .n = n,
                        .ld = rf_dense_ld(n),
                        .damping_mass = damping->mass,
                        .damping_stiff = damping->stiffness,
                        .length_m = INFINITY,
                        .cubic_force = !model->law,
                        .no_energy = model->law && !model->law->energy,
                        .own_damping = viscous != NULL,
                        .explicit_steps = explicit_steps};
  s->model = model;
  s->mass = mass;
  s->stiffness = stiffness;
  s->damping = viscous;
  s->factored[0] = NAN;
  RF_TRY(create_tangent(s, steps != RF_STEPS_EXPLICIT || damping->stiffness > 0.0, err));
  RF_ALLOC(s->product, n);
  if (explicit_steps) {
    RF_TRY(rf_cholesky_create(mass, NULL, &s->mass_factor, err));
    RF_TRY(rf_cholesky_factorize(s->mass_factor, run, mass, NULL, err));
  } else {
    RF_TRY(create_pattern(s, err));
    RF_TRY(rf_cholesky_create(&s->lower, NULL, &s->factor, err));
  }
  *out = &s->base;
  s = NULL;
done:
  if (s) release(&s->base);
  return st;
}
