// The method of fem/statics.c on a few dense coordinates.
#include "model/reduced_statics.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "linalg/dense_rt.h"
#include "linalg/vector.h"

static const double ARMIJO = 1e-4;       // part of the predicted decrease that is asked for
static const double SHORTEST = 1e-10;    // a shorter step means that the search failed
static const double FIRST_SHIFT = 1e-6;  // of the ratio of stiffness to mass
static const double SHIFT_GROWTH = 8.0;
static const double LAST_SHIFT = 1e6;  // beyond it the mass alone would be left
static const double NOISE = 100.0;     // roundings that two potentials may be apart by
static const double STALLED = 1e3;     // floors of rounding at which no progress is an end
// bounds of the next step length in terms of the last: parabolas through noise mean little
static const double SHRINK_MOST = 0.1, SHRINK_LEAST = 0.5;

typedef struct statics {
  const rf_reduced *model;
  const rf_static_settings *set;
  rf_static_report *report;
  int32_t ld;
  double *mass, *stiffness, *factor;  // (r rows of ld)
  double *load, *force, *residual;    // (ld)
  double *direction, *trial, *next;   // (ld)
  void *polynomial;
  double shift;      // factor of the mass that helped last, 0: none needed yet
  double potential;  // at the point evaluated last
  double magnitude;  // of the numbers it is the difference of
} statics;

static void layout(statics *w, int32_t r, rf_arena *a) {
  w->ld = rf_dense_ld(r);
  const size_t ld = (size_t)w->ld;
  double **const matrices[] = {&w->mass, &w->stiffness, &w->factor};
  double **const vectors[] = {&w->load,      &w->force, &w->residual,
                              &w->direction, &w->trial, &w->next};
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i)
    *matrices[i] = rf_arena_take(a, ld * ld, sizeof(double));
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i)
    *vectors[i] = rf_arena_take(a, ld, sizeof(double));
  w->polynomial = rf_arena_take(a, rf_polynomial_work_bytes(r), 1);
}

static double norm(int32_t n, const double *x) { return sqrt(rf_dot(n, x, x)); }

// residual f - R and potential at q; the tangent too if asked for
static void evaluate(statics *w, const double *q, bool tangent) {
  const int32_t r = w->model->r;
  double energy;
  rf_polynomial_evaluate_rt(w->model->polynomial, q, w->polynomial, &energy, w->force,
                            tangent ? w->stiffness : NULL, w->ld);
  const double work = rf_dot(r, w->load, q);
  w->potential = energy - work;
  w->magnitude = fabs(energy) + fabs(work);
  for (int32_t i = 0; i < r; ++i) w->residual[i] = w->load[i] - w->force[i];
}

// Size of the rounding error of R at q: eps sum |K_ij| |q_j|.
static double rounding_floor(const statics *w, const double *q) {
  double sum = 0.0;
  for (int32_t i = 0; i < w->model->r; ++i) {
    double row = 0.0;
    for (int32_t j = 0; j < w->model->r; ++j) row += fabs(w->stiffness[i * w->ld + j] * q[j]);
    sum += row * row;
  }
  return DBL_EPSILON * sqrt(sum);
}

static double stiffness_per_mass(const statics *w) {
  double stiffness = 0.0, mass = 0.0;
  for (int32_t i = 0; i < w->model->r; ++i) {
    stiffness += fabs(w->stiffness[i * w->ld + i]);
    mass += w->mass[i * w->ld + i];
  }
  return stiffness / mass;
}

// direction = (K + shift M)^-1 residual with the shift that it takes
static rf_status solve(statics *w, rf_error *err) {
  const rf_simd simd = w->model->polynomial->simd;
  const int32_t r = w->model->r;
  const double unit = stiffness_per_mass(w);
  double shift = 0.0;
  for (;;) {
    rf_dense_combine_rt(simd, r, shift, w->mass, 1.0, w->stiffness, w->ld, w->factor);
    ++w->report->factorizations;
    if (rf_dense_cholesky_rt(simd, r, w->factor, w->ld)) break;
    if (shift == 0.0) {
      ++w->report->shifted;
      shift = fmax(FIRST_SHIFT * unit, w->shift / SHIFT_GROWTH);
    } else {
      shift *= SHIFT_GROWTH;
    }
    if (!(isfinite(shift) && shift > 0.0 && shift < LAST_SHIFT * unit))
      return rf_fail(err, RF_ERR_NO_CONVERGENCE,
                     "the tangent stiffness holds no finite positive definite part");
    w->shift = shift;
  }
  rf_dense_cholesky_solve_rt(simd, r, w->factor, w->ld, w->residual, w->direction);
  return RF_OK;
}

// q <- q + a d with a <= 1 such that the potential falls; RF_ERR_NO_CONVERGENCE if none does
static rf_status search(statics *w, double *q, rf_error *err) {
  const int32_t r = w->model->r;
  const double before = w->potential, size = norm(r, w->residual);
  const double slope = -rf_dot(r, w->residual, w->direction);
  const double noise = NOISE * DBL_EPSILON * w->magnitude;
  double length = 1.0;
  while (length > SHORTEST) {
    for (int32_t i = 0; i < r; ++i) w->trial[i] = q[i] + length * w->direction[i];
    evaluate(w, w->trial, false);
    const double decrease = -length * slope;
    const double after = norm(r, w->residual);
    const bool tiny = decrease < noise;
    const bool good = tiny ? after < size : w->potential <= before - ARMIJO * decrease + noise;
    if (good && isfinite(w->potential) && isfinite(after)) {
      memcpy(q, w->trial, (size_t)r * sizeof *q);
      return RF_OK;
    }
    // the minimum of the parabola through the two potentials and the slope, within bounds
    const double rise = w->potential - before + decrease;
    const double best = 0.5 * length * decrease / rise;
    const double shortest = SHRINK_MOST * length, longest = SHRINK_LEAST * length;
    length = isfinite(best) ? fmin(fmax(best, shortest), longest) : shortest;
  }
  return rf_fail(err, RF_ERR_NO_CONVERGENCE, "no shorter step lowers the potential");
}

// one load step, from q to equilibrium under w->load
static rf_status iterate(statics *w, const rf_run *run, double *q, rf_error *err) {
  const int32_t r = w->model->r;
  for (int32_t it = 0;; ++it) {
    rf_status st = rf_run_progress(run, -1, -1, err);
    if (st < 0) return st;
    evaluate(w, q, true);
    const double size = norm(r, w->residual), scale = fmax(norm(r, w->load), norm(r, w->force));
    w->report->residual = scale > 0.0 ? size / scale : size;
    if (!isfinite(size))
      return rf_fail(err, RF_ERR_NO_CONVERGENCE, "the coordinates left the finite numbers");
    const double rounding = rounding_floor(w, q);
    if (size <= w->set->tolerance * scale || size <= rounding) return RF_OK;
    if (it == w->set->newton_max)
      return rf_fail(err, RF_ERR_NO_CONVERGENCE, "the limit of %d iterations is met", it);
    st = solve(w, err);
    if (st < 0) return st;
    st = search(w, q, err);
    // no progress within the rounding of R itself: this is the solution
    if (st == RF_ERR_NO_CONVERGENCE && size <= STALLED * rounding) return RF_OK;
    if (st < 0) return st;
    ++w->report->iterations;
  }
}

static rf_status check(const rf_reduced *model, const rf_static_settings *set, const double *force,
                       const double *q, rf_error *err) {
  if (!(isfinite(set->tolerance) && set->tolerance > 0.0))
    return rf_fail(err, RF_ERR_ARG, "tol must be finite and positive, got %g", set->tolerance);
  if (!(set->load_steps >= 1))
    return rf_fail(err, RF_ERR_ARG, "steps must be at least 1, got %d", set->load_steps);
  if (!(set->newton_max >= 1))
    return rf_fail(err, RF_ERR_ARG, "max_iterations must be at least 1, got %d", set->newton_max);
  if (!(set->halvings >= 0 && set->halvings <= RF_REDUCED_STATIC_HALVINGS))
    return rf_fail(err, RF_ERR_ARG, "halvings must be between 0 and %d, got %d",
                   RF_REDUCED_STATIC_HALVINGS, set->halvings);
  for (int32_t i = 0; i < model->r; ++i)
    if (!(isfinite(force[i]) && isfinite(q[i])))
      return rf_fail(err, RF_ERR_ARG, "force[%d] is %g and q0[%d] is %g; both must be finite", i,
                     force[i], i, q[i]);
  return RF_OK;
}

// load step after load step, halved where one fails
static rf_status walk(statics *w, const rf_run *run, const double *force, double *q,
                      rf_error *err) {
  rf_static_report *report = w->report;
  const rf_static_settings *set = w->set;
  const size_t bytes = (size_t)w->model->r * sizeof *q;
  // the load in the smallest parts that there may be: fractions are exact
  const int64_t parts = (int64_t)set->load_steps << set->halvings;
  int64_t at = 0, step = (int64_t)1 << set->halvings;
  for (int32_t successes = 0; at < parts;) {
    if (step > parts - at) step = parts - at;
    const double part = (double)(at + step) / (double)parts;
    for (int32_t i = 0; i < w->model->r; ++i) w->load[i] = part * force[i];
    memcpy(w->next, q, bytes);
    rf_status st = iterate(w, run, w->next, err);
    if (st == RF_ERR_NO_CONVERGENCE && step > 1) {
      step /= 2;
      successes = 0;
      w->shift = 0.0;
      ++report->cuts;
      continue;
    }
    if (st < 0) return st;
    memcpy(q, w->next, bytes);
    at += step;
    ++report->load_steps;
    report->fraction = (double)at / (double)parts;
    if (set->halvings > 0 && ++successes % 2 == 0) step *= 2;
    st = rf_run_progress(run, at, parts, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

rf_status rf_reduced_solve_static(const rf_reduced *model, const rf_run *run,
                                  const rf_static_settings *set, const double *force, double *q,
                                  rf_static_report *report, rf_error *err) {
  rf_status st = RF_OK;
  const int32_t r = model->r;
  void *memory = NULL;
  rf_arena count = {0};
  statics w = {.model = model, .set = set, .report = report};
  memset(report, 0, sizeof *report);
  RF_TRY(check(model, set, force, q, err));
  layout(&w, r, &count);
  memory = rf_alloc(count.used, 1);
  if (!memory) {
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory: statics of r = %d need %zu bytes", r,
                 count.used);
    goto done;
  }
  rf_arena carve = {.base = memory};
  layout(&w, r, &carve);
  for (int32_t i = 0; i < r; ++i)
    memcpy(w.mass + i * w.ld, model->mass + i * r, (size_t)r * sizeof(double));
  st = walk(&w, run, force, q, err);
  if (st == RF_ERR_NO_CONVERGENCE && err) {
    rf_error why = *err;
    why.text[160] = '\0';
    rf_fail(err, st,
            "static solution found for %.6g of the load only: %s (%d load steps and %d iterations "
            "in all, relative residual %.3g); apply the load in more steps, or lower it",
            report->fraction, why.text, report->load_steps, report->iterations, report->residual);
  }
done:
  rf_free(memory);
  return st;
}
