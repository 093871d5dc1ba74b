#include "fem/newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/run.h"
#include "linalg/vector.h"

static const double ARMIJO = 1e-4;       // part of the predicted decrease that is asked for
static const double SHORTEST = 1e-10;    // a shorter step means that the search failed
static const double FIRST_SHIFT = 1e-6;  // of the ratio of stiffness to mass
static const double SHIFT_GROWTH = 8.0;
static const double LAST_SHIFT = 1e6;  // beyond it the mass alone would be left
static const double NOISE = 100.0;     // roundings that two potentials may be apart by
static const double STALLED = 1e3;     // floors of rounding at which no progress is an end
// a factor is kept while it brings the residual down so far; one that is fresh must do better
static const double KEEP_FRESH = 0.03, KEEP_KEPT = 0.15;
// bounds of the next step length in terms of the last: parabolas through noise mean little
static const double SHRINK_MOST = 0.1, SHRINK_LEAST = 0.5;

rf_status rf_newton_check(const rf_static_settings *set, rf_error *err) {
  if (!(isfinite(set->tolerance) && set->tolerance > 0.0))
    return rf_fail(err, RF_ERR_ARG, "tol must be finite and positive, got %g", set->tolerance);
  if (!(set->load_steps >= 1))
    return rf_fail(err, RF_ERR_ARG, "steps must be at least 1, got %d", set->load_steps);
  if (!(set->newton_max >= 1))
    return rf_fail(err, RF_ERR_ARG, "max_iterations must be at least 1, got %d", set->newton_max);
  if (!(set->halvings >= 0 && set->halvings <= RF_STATIC_HALVINGS))
    return rf_fail(err, RF_ERR_ARG, "halvings must be between 0 and %d, got %d", RF_STATIC_HALVINGS,
                   set->halvings);
  return RF_OK;
}

static double residual_norm(const rf_newton *n) { return rf_norm(n->n_unknowns, n->residual); }

rf_status rf_newton_factorize(rf_newton *n, rf_error *err) {
  rf_status st = n->problem->factorize(n, 0.0, err);
  ++n->report->factorizations;
  // at rest the tangent is semidefinite: what fails there is no matter of shifting
  if (st != RF_ERR_SINGULAR || n->at_rest) return st;
  ++n->report->shifted;
  const double unit = n->problem->stiffness_per_mass(n);
  double shift = fmax(FIRST_SHIFT * unit, n->shift / SHIFT_GROWTH);
  while (st == RF_ERR_SINGULAR && isfinite(shift) && shift < LAST_SHIFT * unit) {
    st = rf_run_progress(n->run, -1, -1, err);
    if (st < 0) return st;
    st = n->problem->factorize(n, shift, err);
    ++n->report->factorizations;
    n->shift = shift;
    shift *= SHIFT_GROWTH;
  }
  if (st == RF_ERR_SINGULAR)
    return rf_fail(err, RF_ERR_NO_CONVERGENCE,
                   "the tangent stiffness holds no finite positive definite part");
  return st;
}

// x <- x + a d with a <= 1 such that the potential falls; RF_ERR_NO_CONVERGENCE if none does
static rf_status search(rf_newton *n, double *x, rf_error *err) {
  const double before = n->potential, size = residual_norm(n);
  const double slope = -rf_dot(n->n_unknowns, n->residual, n->direction);
  const double noise = NOISE * DBL_EPSILON * n->magnitude;
  double length = 1.0;
  while (length > SHORTEST) {
    n->problem->move(n, length, x, n->trial);
    const rf_status st = n->problem->evaluate(n, n->trial, false, err);
    if (st < 0) return st;
    const double decrease = -length * slope;
    const double after = residual_norm(n);
    const bool tiny = decrease < noise;
    const bool good = tiny ? after < size : n->potential <= before - ARMIJO * decrease + noise;
    if (good && isfinite(n->potential) && isfinite(after)) {
      memcpy(x, n->trial, (size_t)n->n_values * sizeof *x);
      return RF_OK;
    }
    // the minimum of the parabola through the two potentials and the slope, within bounds
    const double rise = n->potential - before + decrease;
    const double best = 0.5 * length * decrease / rise;
    const double shortest = SHRINK_MOST * length, longest = SHRINK_LEAST * length;
    length = isfinite(best) ? fmin(fmax(best, shortest), longest) : shortest;
  }
  return rf_fail(err, RF_ERR_NO_CONVERGENCE, "no shorter step lowers the potential");
}

// Tells how much of the load is in equilibrium, of the present step the part that the residual
// has come down of its way to `target`, on a scale of powers.
static rf_status tell(rf_newton *n, double first, double size, double target, rf_error *err) {
  const double whole = log(first / target), come = log(first / size);
  const double part = whole > 0.0 && come > 0.0 ? fmin(come / whole, 1.0) : 0.0;
  n->share = fmax(n->share, part * (double)(n->step * RF_STATIC_SHARES - 1));
  return rf_run_progress(n->run, n->at * RF_STATIC_SHARES + (int64_t)n->share,
                         n->parts * RF_STATIC_SHARES, err);
}

// from x to equilibrium under the present load
static rf_status iterate(rf_newton *n, double *x, rf_error *err) {
  double first = 0.0;
  bool kept = false;  // the factor of an earlier tangent still serves
  n->share = 0.0;
  for (int32_t it = 0;; ++it) {
    rf_status st = rf_run_poll(n->run, err);
    if (st >= 0) st = n->problem->evaluate(n, x, !kept, err);
    if (st < 0) return st;
    const double size = residual_norm(n);
    n->report->residual = n->scale > 0.0 ? size / n->scale : size;
    if (!isfinite(size))
      return rf_fail(err, RF_ERR_NO_CONVERGENCE, "the displacements left the finite numbers");
    const double rounding = n->problem->rounding(n, x);
    if (size <= n->set->tolerance * n->scale || size <= rounding) return RF_OK;
    if (it == n->set->newton_max)
      return rf_fail(err, RF_ERR_NO_CONVERGENCE, "the limit of %d iterations is met", it);
    if (it == 0) first = size;
    st = tell(n, first, size, fmax(n->set->tolerance * n->scale, rounding), err);
    if (st < 0) return st;
    const int32_t shifted = n->report->shifted;
    if (!kept) st = rf_newton_factorize(n, err);
    if (st >= 0) st = n->problem->solve(n, err);
    if (st < 0) return st;
    st = search(n, x, err);
    // no progress within the rounding of R itself: this is the solution
    if (st == RF_ERR_NO_CONVERGENCE && size <= STALLED * rounding) return RF_OK;
    if (st == RF_ERR_NO_CONVERGENCE && kept) {
      kept = false;
      continue;
    }
    if (st < 0) return st;
    kept = n->problem->factor_is_dear && n->report->shifted == shifted &&
           residual_norm(n) <= (kept ? KEEP_KEPT : KEEP_FRESH) * size;
    ++n->report->iterations;
    n->at_rest = false;
  }
}

// towards n->next, the equilibrium under a part of the load
static rf_status advance(rf_newton *n, double part, const double *x, rf_error *err) {
  memcpy(n->next, x, (size_t)n->n_values * sizeof *x);
  rf_status st = n->problem->begin(n, part, n->next, err);
  if (st < 0 || n->n_unknowns == 0) return st;
  st = iterate(n, n->next, err);
  return st < 0 || !n->problem->accept ? st : n->problem->accept(n, n->next, err);
}

// load step after load step, halved where one fails
static rf_status walk(rf_newton *n, double *x, rf_error *err) {
  rf_static_report *report = n->report;
  const int32_t halvings = n->set->halvings;
  int64_t step = (int64_t)1 << halvings;
  int32_t successes = 0;
  // the load in the smallest parts that there may be: fractions are exact
  n->parts = (int64_t)n->set->load_steps << halvings;
  for (n->at = 0; n->at < n->parts;) {
    if (step > n->parts - n->at) step = n->parts - n->at;
    const bool at_rest = n->at_rest;
    n->step = step;
    rf_status st = advance(n, (double)(n->at + step) / (double)n->parts, x, err);
    if (st == RF_ERR_NO_CONVERGENCE && step > 1) {
      step /= 2;
      successes = 0;
      n->at_rest = at_rest;
      n->shift = 0.0;
      ++report->cuts;
      continue;
    }
    if (st < 0) return st;
    n->at += step;
    memcpy(x, n->next, (size_t)n->n_values * sizeof *x);
    ++report->load_steps;
    report->fraction = (double)n->at / (double)n->parts;
    if (halvings > 0 && ++successes % 2 == 0) step *= 2;
    st = rf_run_progress(n->run, n->at * RF_STATIC_SHARES, n->parts * RF_STATIC_SHARES, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

rf_status rf_newton_solve(rf_newton *n, const rf_run *run, const rf_static_settings *set, double *x,
                          rf_static_report *report, rf_error *err) {
  n->run = run;
  n->set = set;
  n->report = report;
  n->shift = 0.0;
  const rf_status st = walk(n, x, err);
  if (st != RF_ERR_NO_CONVERGENCE || !err) return st;
  rf_error why = *err;
  why.text[160] = '\0';
  if (set->halvings > 0)
    return rf_fail(err, st,
                   "static solution found for %.6g of the load only, and not in steps of %.3g "
                   "beyond: %s (%d load steps and %d iterations in all); lower the load",
                   report->fraction, 1.0 / (double)n->parts, why.text, report->load_steps,
                   report->iterations);
  return rf_fail(err, st,
                 "static solution found for %.6g of the load only, and not in load step %d of %d: "
                 "%s (%d iterations in all, relative residual %.3g); apply the load in more "
                 "steps or with adaptive=True, or lower it",
                 report->fraction, report->load_steps + 1, set->load_steps, why.text,
                 report->iterations, report->residual);
}
