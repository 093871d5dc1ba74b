#include "dynamics/equilibrium.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/run.h"
#include "dynamics/newton.h"
#include "linalg/vector.h"

static const double SHORTEST = 1e-10;    // a shorter step means that the search failed
static const double FIRST_SHIFT = 1e-6;  // of the ratio of stiffness to mass
static const double SHIFT_GROWTH = 8.0;
enum { TRIES = 3 };  // shifts before a semidefinite tangent, which may lead far away
static const double LAST_SHIFT = 1e6;  // beyond it the mass alone would be left
static const double NOISE = 100.0;     // roundings that two potentials may be apart by
static const double STALLED = 1e3;     // floors of rounding at which no progress is an end
static const double ATTAINED = 100.0;  // measured roundings at which it is, too
static const double STAGNANT = 0.5;    // of the residual before; a smaller one is still falling
static const double COARSE = 1e-3;     // relative residual above which rounding is no explanation
static const double NOISY = 4.0;       // measured changes of P that count as none
enum { PROBES = 2 };                   // that measure the rounding
// of the ratio of stiffness to mass: negative eigenvalues that may be rounding
static const double NEGLIGIBLE = 1e-13;
// a factor is kept while it brings the residual down so far; one that is fresh must do better
static const double KEEP_FRESH = 0.03, KEEP_KEPT = 0.15;

rf_status rf_statics_check(const rf_static_settings *set, rf_error *err) {
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

static void layout(rf_equilibrium *e, size_t ld, rf_arena *a) {
  double **const vectors[] = {&e->load, &e->force,    &e->trial,
                              &e->next, &e->residual, &e->direction};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i)
    *vectors[i] = rf_arena_take(a, ld, sizeof(double));
}

rf_status rf_equilibrium_create(rf_system *system, const rf_equilibrium_hooks *hooks, void *context,
                                rf_equilibrium **out, rf_error *err) {
  rf_equilibrium sizes, *e;
  rf_arena count = {0};
  const size_t head = (sizeof *e + 63) / 64 * 64;
  layout(&sizes, (size_t)system->ld, &count);
  // the struct first, its arrays behind it
  *out = e = rf_alloc(head + count.used, 1);
  if (!e) {
    const int32_t n = system->n;
    rf_system_free(system);
    return rf_fail(err, RF_ERR_MEMORY, "out of memory: statics of %d values need %zu bytes", n,
                   head + count.used);
  }
  rf_arena carve = {.base = (char *)e + head};
  layout(e, (size_t)system->ld, &carve);
  e->system = system;
  e->hooks = hooks;
  e->context = context;
  return RF_OK;
}

void rf_equilibrium_free(rf_equilibrium *e) {
  if (!e) return;
  rf_system_free(e->system);
  rf_free(e);
}

static double residual_norm(const rf_equilibrium *e) { return rf_norm(e->system->n, e->residual); }

// K + shift M; a failure at rest is explained by the system.
static rf_status factor(void *equilibrium, double shift) {
  rf_equilibrium *e = equilibrium;
  rf_system *s = e->system;
  rf_status st = shift > 0.0 ? rf_run_progress(e->run, -1, -1, s->err) : RF_OK;
  if (st < 0) return st;
  st = s->operations->factorize(s, shift, 1.0, 0.0, NULL);
  ++e->report->factorizations;
  if (shift > 0.0) e->shift = shift;
  if (st != RF_ERR_SINGULAR || !e->at_rest || !s->life->explain_singular) return st;
  return s->life->explain_singular(s, s->err);
}

rf_status rf_equilibrium_evaluate(rf_equilibrium *e, const double *x, bool tangent) {
  rf_system *s = e->system;
  double energy;
  const rf_status st = s->operations->evaluate(s, x, tangent, &energy, e->force);
  if (st < 0) return st;
  const double work = rf_dot(s->n, e->load, x);
  e->potential = energy - work;
  e->magnitude = fabs(energy) + fabs(work);
  e->scale = fmax(rf_norm(s->n, e->load), rf_norm(s->n, e->force));
  for (int64_t i = 0; i < s->n; ++i) e->residual[i] = e->load[i] - e->force[i];
  rf_system_keep_free_rt(s, e->residual);
  return RF_OK;
}

rf_status rf_equilibrium_factorize(rf_equilibrium *e) {
  rf_status st = factor(e, 0.0);
  e->shifted = e->projected = false;
  // at rest the tangent is semidefinite: what fails there is no matter of shifting
  if (st != RF_ERR_SINGULAR || e->at_rest) return st;
  e->shifted = e->indefinite = true;
  ++e->report->shifted;
  const double unit = e->system->operations->stiffness_per_mass(e->system);
  double first = fmax(FIRST_SHIFT * unit, e->shift / SHIFT_GROWTH);
  if (e->system->operations->make_definite && e->repair != RF_REPAIR_SHIFT) {
    const int tries = e->repair == RF_REPAIR_PROJECT ? 0 : TRIES;
    for (int k = 0; k < tries && st == RF_ERR_SINGULAR; ++k, first *= SHIFT_GROWTH)
      st = factor(e, first);
    if (st != RF_ERR_SINGULAR) return st;
    st = e->system->operations->make_definite(e->system, e->next);
    if (st >= 0) st = factor(e, 0.0);
    e->projected = st >= 0;
    if (st != RF_ERR_SINGULAR) return st;
  }
  st = rf_newton_shift_rt(factor, e, first, SHIFT_GROWTH, LAST_SHIFT * unit);
  if (st == RF_ERR_SINGULAR)
    return rf_fail(e->system->err, RF_ERR_NO_CONVERGENCE,
                   "the tangent stiffness has no finite positive definite part");
  return st;
}

// x <- x + a d with a <= 1 such that the potential falls; RF_ERR_NO_CONVERGENCE if none does
static rf_status search(rf_equilibrium *e, double *x, rf_error *err) {
  const double before = e->potential, size = residual_norm(e);
  const double slope = -rf_dot(e->system->n, e->residual, e->direction);
  const double noise = fmax(NOISE * DBL_EPSILON * e->magnitude, e->energy_noise);
  double length = 1.0;
  while (length > SHORTEST) {
    for (int64_t i = 0; i < e->system->n; ++i) e->trial[i] = x[i] + length * e->direction[i];
    const rf_status st = rf_equilibrium_evaluate(e, e->trial, false);
    if (st < 0) return st;
    const double promised = length * slope;
    const double after = residual_norm(e);
    const bool tiny = -promised < noise;
    const bool good =
        tiny ? after < size : e->potential <= before + RF_NEWTON_ARMIJO * promised + noise;
    if (good && isfinite(e->potential) && isfinite(after)) {
      memcpy(x, e->trial, (size_t)e->system->n * sizeof *x);
      return RF_OK;
    }
    length = rf_newton_shorten_rt(length, promised, e->potential - before);
  }
  return rf_fail(err, RF_ERR_NO_CONVERGENCE, "no step length lowers the potential energy");
}

// Reports the part of the load in equilibrium; of the present step, the part of the required
// decrease of the residual, on a logarithmic scale.
static rf_status report_progress(rf_equilibrium *e, const rf_newton *n) {
  const double enough = fmax(n->tolerance * n->scale, n->rounding);
  if (n->iterations == 0) e->first = n->size, e->share = 0.0;
  const double whole = log(e->first / enough), come = log(e->first / n->size);
  const double part = whole > 0.0 && come > 0.0 ? fmin(come / whole, 1.0) : 0.0;
  e->share = fmax(e->share, part * (double)(e->step * RF_STATIC_SHARES - 1));
  return rf_run_progress(e->run, e->at * RF_STATIC_SHARES + (int64_t)e->share,
                         e->parts * RF_STATIC_SHARES, e->system->err);
}

static rf_status evaluate(void *equilibrium, rf_newton *n) {
  rf_equilibrium *e = equilibrium;
  rf_status st = rf_run_poll(e->run, e->system->err);
  if (st >= 0) st = rf_equilibrium_evaluate(e, e->next, !n->kept);
  if (st < 0) return st;
  n->size = residual_norm(e);
  e->ratio = n->iterations > 0 ? n->size / e->size : 0.0;
  e->size = n->size;
  n->scale = e->scale;
  n->residual = n->scale > 0.0 ? n->size / n->scale : n->size;  // the message of a rejection has it
  n->rounding = e->system->operations->rounding(e->system, e->next);
  // near an equilibrium that is going to be rejected, further iterations are in vain; that it is
  // near is a guess from the residual: a wrong one fails a step that might have converged
  const bool near = n->size <= COARSE * n->scale && e->hooks && e->hooks->accept;
  if (near) st = e->hooks->accept(e, e->next, e->system->err);
  return st < 0 ? st : report_progress(e, n);
}

// x with its last digits changed.
static void perturb(const rf_equilibrium *e, int probe, const double *x, double *out) {
  for (int64_t i = 0; i < e->system->n; ++i) {
    // multiplicative hash: signs without a pattern
    const uint32_t mixed = (uint32_t)(PROBES * i + probe) * 2654435769u;
    out[i] = x[i] * (mixed >> 31 ? 1.0 + DBL_EPSILON : 1.0 - DBL_EPSILON);
  }
}

// Measures the rounding of R and P at e->next; *is: the residual is no larger.
static rf_status at_rounding(rf_equilibrium *e, const rf_newton *n, bool *is) {
  rf_system *s = e->system;
  double level = 0.0, energy, changed;
  *is = n->size <= STALLED * n->rounding;
  if (*is) return RF_OK;
  rf_status st = s->operations->evaluate(s, e->next, false, &energy, e->force);
  for (int probe = 0; probe < PROBES && st >= 0; ++probe) {
    perturb(e, probe, e->next, e->trial);
    st = s->operations->evaluate(s, e->trial, false, &changed, e->direction);
    if (st < 0) break;
    for (int64_t i = 0; i < s->n; ++i) e->direction[i] -= e->force[i];
    rf_system_keep_free_rt(s, e->direction);
    level = fmax(level, rf_norm(s->n, e->direction));
    if (isfinite(changed)) e->energy_noise = fmax(e->energy_noise, NOISY * fabs(changed - energy));
  }
  if (st < 0) return st;
  e->noise = n->scale > 0.0 ? level / n->scale : level;
  *is = n->size <= ATTAINED * level && n->residual <= COARSE;
  return RF_OK;
}

static rf_status factorize(void *equilibrium) { return rf_equilibrium_factorize(equilibrium); }

static rf_status advance(void *equilibrium, rf_newton *n) {
  rf_equilibrium *e = equilibrium;
  rf_status st = e->system->operations->solve(e->system, e->residual, e->direction);
  if (st >= 0) st = search(e, e->next, e->system->err);
  if (st == RF_ERR_NO_CONVERGENCE) {
    const double before = e->energy_noise;
    const rf_status measured = at_rounding(e, n, &n->converged);
    if (measured < 0 || n->converged) return measured;
    if (e->energy_noise > 2.0 * fmax(before, NOISE * DBL_EPSILON * e->magnitude)) {
      n->kept = false;
      return RF_OK;  // the search, again
    }
    const rf_repair other = e->projected ? RF_REPAIR_SHIFT : RF_REPAIR_PROJECT;
    const bool again =
        e->shifted && e->repair == RF_REPAIR_ANY && e->system->operations->make_definite;
    if (!n->kept && !again) return st;
    if (!n->kept) e->repair = other;
    n->kept = false;
    return RF_OK;
  }
  if (st < 0) return st;
  e->repair = RF_REPAIR_ANY;
  n->kept = e->system->factor_is_dear && !e->shifted &&
            residual_norm(e) <= (n->kept ? KEEP_KEPT : KEEP_FRESH) * n->size;
  ++e->report->iterations;
  e->at_rest = false;
  return RF_OK;
}

static const rf_newton_operations STATIC = {
    .evaluate = evaluate, .factorize = factorize, .advance = advance};

// Explains forces at e->next that are not finite.
static rf_status explain_undefined(rf_equilibrium *e) {
  rf_error why = {.text = "the elastic forces are not finite"};
  (void)rf_system_require_defined(e->system, e->next, "the step", &why);
  return rf_fail(e->system->err, RF_ERR_NO_CONVERGENCE, "%s", why.text);
}

// From e->next to equilibrium under the present load.
static rf_status iterate(rf_equilibrium *e) {
  rf_newton n = {.tolerance = e->set->tolerance, .most = e->set->newton_max};
  e->repair = RF_REPAIR_ANY;
  e->noise = e->energy_noise = 0.0;
  e->indefinite = false;
  rf_status st = rf_newton_solve_rt(&STATIC, e, &n);
  e->report->residual = n.residual;
  if (st == RF_ERR_DIVERGED) return explain_undefined(e);
  if (st >= 0 && !n.converged && e->ratio > STAGNANT) st = at_rounding(e, &n, &n.converged);
  if (st < 0 || n.converged) return st;
  e->exhausted = true;
  return rf_fail(e->system->err, RF_ERR_NO_CONVERGENCE,
                 "the limit of %d iterations is reached (max_iterations)", n.iterations);
}

// towards e->next, the equilibrium under a part of the load
static rf_status balance(rf_equilibrium *e, double part, const double *x, rf_error *err) {
  memcpy(e->next, x, (size_t)e->system->n * sizeof *x);
  rf_status st = RF_OK;
  e->exhausted = false;
  for (int64_t i = 0; i < e->system->n; ++i) e->load[i] = part * e->whole[i];
  if (e->hooks && e->hooks->begin) st = e->hooks->begin(e, part, e->next);
  if (st < 0 || !rf_system_moves(e->system)) return st;
  st = iterate(e);
  return st < 0 || !e->hooks || !e->hooks->accept ? st : e->hooks->accept(e, e->next, err);
}

// load step after load step, halved where one fails
static rf_status walk(rf_equilibrium *e, double *x, rf_error *err) {
  rf_static_report *report = e->report;
  const int32_t halvings = e->set->halvings;
  int64_t step = (int64_t)1 << halvings;
  int32_t successes = 0;
  // the load in the smallest parts that there may be: fractions are exact
  e->parts = (int64_t)e->set->load_steps << halvings;
  e->at = (int64_t)(e->set->begin * (double)e->parts);
  report->fraction = e->set->begin;
  while (e->at < e->parts) {
    if (step > e->parts - e->at) step = e->parts - e->at;
    const bool at_rest = e->at_rest;
    e->step = step;
    rf_status st = balance(e, (double)(e->at + step) / (double)e->parts, x, err);
    const double least = e->set->resolution * (double)e->at;
    // more iterations might have found it: that says nothing about the load
    const bool halved = (double)step > least || e->exhausted;
    if (st == RF_ERR_NO_CONVERGENCE && step > 1 && halved) {
      step /= 2;
      successes = 0;
      e->at_rest = at_rest;
      e->shift = 0.0;
      ++report->cuts;
      continue;
    }
    if (st < 0) return st;
    e->at += step;
    memcpy(x, e->next, (size_t)e->system->n * sizeof *x);
    ++report->load_steps;
    report->fraction = (double)e->at / (double)e->parts;
    if (halvings > 0 && ++successes % 2 == 0) step *= 2;
    st = rf_run_progress(e->run, e->at * RF_STATIC_SHARES, e->parts * RF_STATIC_SHARES, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

// Tests the tangent at the solution x.
static rf_status test_stability(rf_equilibrium *e, const double *x) {
  rf_system *s = e->system;
  e->report->stable = 1;
  if (!rf_system_moves(s)) return RF_OK;
  rf_status st = rf_equilibrium_evaluate(e, x, true);
  if (st < 0) return st;
  const double unit = s->operations->stiffness_per_mass(s);
  st = s->operations->factorize(s, NEGLIGIBLE * unit, 1.0, 0.0, NULL);
  if (st != RF_ERR_SINGULAR) return st;
  e->report->stable = 0;
  return RF_OK;
}

// True if rounding is what keeps the residual up.
static bool limited_by_rounding(const rf_equilibrium *e) {
  return e->noise > 0.0 && ATTAINED * e->noise >= e->report->residual;
}

// Advice after a failure.  Beyond a limit point or a bifurcation more load steps do not help.
static const char *advice(const rf_equilibrium *e) {
  if (limited_by_rounding(e))
    return "rounding leaves no smaller residual: of a reduced model take fewer coordinates, or a "
           "ProjectedSolid";
  if (e->indefinite)
    return "the tangent was indefinite, as near buckling or snap-through, beyond which more steps "
           "may not help: lower the load, add a small side load, or simulate the motion with "
           "damping";
  if (e->set->halvings > 0) return "lower the load";
  return "apply the load in more steps or with adaptive=True, or lower it";
}

// Replaces the reason of a failure by a text with the load reached, the residual and advice.
static rf_status explain(const rf_equilibrium *e, rf_error *err) {
  const rf_static_report *report = e->report;
  rf_error why = *err;
  char found[80] = "no static solution found", step[64], noise[64] = "";
  why.text[120] = '\0';
  if (report->fraction > 0.0)
    (void)snprintf(found, sizeof found, "static solution found for %.6g of the load only, and not",
                   report->fraction);
  if (e->set->halvings > 0)
    (void)snprintf(step, sizeof step, "steps of %.3g of the load", 1.0 / (double)e->parts);
  else
    (void)snprintf(step, sizeof step, "load step %d of %d", report->load_steps + 1,
                   e->set->load_steps);
  if (limited_by_rounding(e))
    (void)snprintf(noise, sizeof noise, ", rounding of the forces %.1g", e->noise);
  return rf_fail(err, RF_ERR_NO_CONVERGENCE,
                 "%s in %s: %s (%d iterations in all, relative residual %.3g, tol %.3g%s); %s",
                 found, step, why.text, report->iterations, report->residual, e->set->tolerance,
                 noise, advice(e));
}

rf_status rf_equilibrium_solve(rf_equilibrium *e, const rf_run *run, const rf_static_settings *set,
                               const double *load, double *x, rf_static_report *report,
                               rf_error *err) {
  e->system->run = run;
  e->system->err = err;
  e->whole = load;
  e->run = run;
  e->set = set;
  e->report = report;
  e->shift = 0.0;
  report->stable = -1;
  rf_status st = walk(e, x, err);
  if (st >= 0 && set->stability) st = test_stability(e, x);
  e->system->run = NULL;
  e->system->err = NULL;
  return st == RF_ERR_NO_CONVERGENCE && err ? explain(e, err) : st;
}
