// Static equilibrium R(u) = f by Newton-Raphson.
//
// Dead loads and a hyperelastic material have a potential, P(u) = W(u) - f.u, so a
// step along a direction of descent is shortened until P falls enough (Armijo).  The
// tangent gives such a direction where it is positive definite; elsewhere a multiple
// of the mass is added until it is.  Close to the solution differences of P drown in
// rounding; there the residual decides.
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "fem/statics.h"
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

struct rf_statics {
  const rf_solid *solid;
  const rf_run *run;
  const rf_static_settings *set;
  rf_static_report *report;
  double *load, *force, *trial, *step;  // (n, 3)
  double *residual, *direction;         // (n_free, 3)
  double *blocks;                       // tangent
  rf_csc lower;
  rf_cholesky *factor;
  double shift;                 // factor of the mass that helped last, 0: none needed yet
  bool at_rest;                 // nothing has moved yet: the tangent is that at rest
  double potential;             // at the present u
  double magnitude;             // of the numbers it is the difference of
  double *next, *move, *start;  // (n, 3)
  int64_t at, parts;            // of the load: reached, all
  int32_t inverted;             // elements that were inside out to begin with
};

static double norm(int64_t count, const double *x) {
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) sum += x[i] * x[i];
  return sqrt(sum);
}

// residual f - R and potential at u; the tangent too if asked for
static rf_status evaluate(rf_statics *w, const double *u, bool tangent, rf_error *err) {
  const int64_t n = 3 * (int64_t)w->solid->mesh->n_nodes;
  double energy;
  const rf_status st =
      rf_solid_evaluate(w->solid, w->run, u, &energy, w->force, tangent ? w->blocks : NULL, err);
  if (st < 0) return st;
  const double work = rf_dot(n, w->load, u);
  w->potential = energy - work;
  w->magnitude = energy + fabs(work);
  for (int64_t i = 0; i < n; ++i) w->step[i] = w->load[i] - w->force[i];
  rf_solid_gather(w->solid, w->step, w->residual);
  return RF_OK;
}

// What the residual is measured by: the load, or the reactions where they are larger.
static double load_scale(const rf_statics *w) {
  const int64_t n = 3 * (int64_t)w->solid->mesh->n_nodes;
  return fmax(norm(n, w->load), norm(n, w->force));
}

// Size of the rounding error of R at u: eps sum |K_ij| |u_j|.
static double rounding_floor(const rf_statics *w, const double *u) {
  const rf_solid *s = w->solid;
  double sum = 0.0;
  for (int32_t k = 0; k < s->n_free; ++k)
    for (int r = 0; r < 3; ++r) {
      double row = 0.0;
      for (int32_t p = s->graph.ptr[s->free[k]]; p < s->graph.ptr[s->free[k] + 1]; ++p)
        for (int c = 0; c < 3; ++c)
          row += fabs(w->blocks[9 * (int64_t)p + 3 * r + c] * u[3 * (int64_t)s->graph.col[p] + c]);
      sum += row * row;
    }
  return DBL_EPSILON * sqrt(sum);
}

static rf_status refuse_singular(const rf_statics *w, int32_t column, rf_error *err) {
  const int32_t node = w->solid->free[column / 3];
  const double *x = w->solid->mesh->nodes + 3 * (int64_t)node;
  return rf_fail(
      err, RF_ERR_SINGULAR,
      "the stiffness at rest is singular at node %d (%g, %g, %g): a part of the solid can "
      "move without strain, for example swing about an edge or a node by which alone it "
      "hangs on the rest; connect the parts through faces, or fix nodes of each part",
      node, x[0], x[1], x[2]);
}

// ratio of stiffness to mass, the unit of the shift
static double stiffness_per_mass(const rf_statics *w) {
  const rf_solid *s = w->solid;
  double stiffness = 0.0, mass = 0.0;
  for (int32_t k = 0; k < s->n_free; ++k)
    for (int32_t p = s->graph.ptr[s->free[k]]; p < s->graph.ptr[s->free[k] + 1]; ++p)
      if (s->graph.col[p] == s->free[k]) {
        for (int i = 0; i < 3; ++i) stiffness += fabs(w->blocks[9 * (int64_t)p + 4 * i]);
        mass += 3.0 * s->mass[p];
      }
  return stiffness / mass;
}

// factor of the tangent, shifted by a multiple of the mass if that is what it takes
static rf_status factorize(rf_statics *w, rf_error *err) {
  int32_t column = 0;
  rf_solid_free_fill(w->solid, 0.0, w->blocks, &w->lower);
  rf_status st = rf_cholesky_factorize(w->factor, &w->lower, &column, err);
  ++w->report->factorizations;
  if (st != RF_ERR_SINGULAR) return st;
  // at rest the tangent is semidefinite: what fails there is no matter of shifting
  if (w->at_rest) return refuse_singular(w, column, err);
  ++w->report->shifted;
  const double unit = stiffness_per_mass(w);
  double shift = fmax(FIRST_SHIFT * unit, w->shift / SHIFT_GROWTH);
  while (st == RF_ERR_SINGULAR && isfinite(shift) && shift < LAST_SHIFT * unit) {
    st = rf_run_progress(w->run, -1, -1, err);
    if (st < 0) return st;
    rf_solid_free_fill(w->solid, shift, w->blocks, &w->lower);
    st = rf_cholesky_factorize(w->factor, &w->lower, &column, err);
    ++w->report->factorizations;
    w->shift = shift;
    shift *= SHIFT_GROWTH;
  }
  if (st == RF_ERR_SINGULAR)
    return rf_fail(
        err, RF_ERR_NO_CONVERGENCE,
        "the tangent stiffness holds no finite positive definite part; apply the load in "
        "more steps");
  return st;
}

// u <- u + a d with a <= 1 such that the potential falls; RF_ERR_NO_CONVERGENCE if none does
static rf_status search(rf_statics *w, double *u, rf_error *err) {
  const int64_t n = 3 * (int64_t)w->solid->mesh->n_nodes, n_free = 3 * (int64_t)w->solid->n_free;
  const double before = w->potential, size = norm(n_free, w->residual);
  const double slope = -rf_dot(n_free, w->residual, w->direction);
  const double noise = NOISE * DBL_EPSILON * w->magnitude;
  double *const along = w->trial;
  rf_status st = RF_OK;
  double length = 1.0;
  while (length > SHORTEST) {
    rf_solid_scatter(w->solid, w->direction, along);
    for (int64_t i = 0; i < n; ++i) along[i] = u[i] + length * along[i];
    st = evaluate(w, along, false, err);
    if (st < 0) return st;
    const double decrease = -length * slope;
    const double after = norm(n_free, w->residual);
    const bool tiny = decrease < noise;
    const bool good = tiny ? after < size : w->potential <= before - ARMIJO * decrease + noise;
    if (good && isfinite(w->potential) && isfinite(after)) {
      memcpy(u, along, (size_t)n * sizeof *u);
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

// the linear answer to moving the fixed nodes by `move` and to the new load
static rf_status predict(rf_statics *w, const double *move, double *u, rf_error *err) {
  const rf_solid *s = w->solid;
  const int64_t n = 3 * (int64_t)s->mesh->n_nodes, n_free = 3 * (int64_t)s->n_free;
  rf_status st = RF_OK;
  RF_TRY(evaluate(w, u, true, err));
  RF_TRY(factorize(w, err));
  RF_TRY(rf_solid_block_multiply(s, w->run, w->blocks, 1, move, w->step, err));
  rf_solid_gather(s, w->step, w->direction);
  for (int64_t i = 0; i < n_free; ++i) w->direction[i] = w->residual[i] - w->direction[i];
  RF_TRY(rf_cholesky_solve(w->factor, 1, w->direction, w->direction, err));
  rf_solid_scatter(s, w->direction, w->step);
  for (int64_t i = 0; i < n; ++i) u[i] += w->step[i] + move[i];
  ++w->report->iterations;
  w->at_rest = false;
done:
  return st;
}

// one load step, from u to equilibrium under w->load
static rf_status iterate(rf_statics *w, double *u, rf_error *err) {
  const int64_t n_free = 3 * (int64_t)w->solid->n_free;
  rf_status st = RF_OK;
  for (int32_t it = 0;; ++it) {
    RF_TRY(rf_run_progress(w->run, w->at, w->parts, err));
    RF_TRY(evaluate(w, u, true, err));
    const double size = norm(n_free, w->residual), scale = load_scale(w);
    w->report->residual = scale > 0.0 ? size / scale : size;
    if (!isfinite(size)) {
      st = rf_fail(err, RF_ERR_NO_CONVERGENCE, "the displacements left the finite numbers");
      goto done;
    }
    if (size <= w->set->tolerance * scale || size <= rounding_floor(w, u)) return RF_OK;
    if (it == w->set->newton_max) {
      st = rf_fail(err, RF_ERR_NO_CONVERGENCE, "the limit of %d iterations is met", it);
      goto done;
    }
    RF_TRY(factorize(w, err));
    RF_TRY(rf_cholesky_solve(w->factor, 1, w->residual, w->direction, err));
    st = search(w, u, err);
    // no progress within the rounding of R itself: this is the solution
    if (st == RF_ERR_NO_CONVERGENCE && size <= STALLED * rounding_floor(w, u)) return RF_OK;
    if (st < 0) goto done;
    ++w->report->iterations;
    w->at_rest = false;
  }
done:
  return st;
}

static rf_status check(const rf_solid *s, const rf_static_settings *set, const double *force,
                       const double *prescribed, const double *u, rf_error *err) {
  if (!(isfinite(set->tolerance) && set->tolerance > 0.0))
    return rf_fail(err, RF_ERR_ARG, "tol must be finite and positive, got %g", set->tolerance);
  if (!(set->load_steps >= 1))
    return rf_fail(err, RF_ERR_ARG, "steps must be at least 1, got %d", set->load_steps);
  if (!(set->newton_max >= 1))
    return rf_fail(err, RF_ERR_ARG, "max_iterations must be at least 1, got %d", set->newton_max);
  if (!(set->halvings >= 0 && set->halvings <= RF_STATIC_HALVINGS))
    return rf_fail(err, RF_ERR_ARG, "halvings must be between 0 and %d, got %d", RF_STATIC_HALVINGS,
                   set->halvings);
  const double *const all[3] = {force, prescribed, u};
  const char *const name[3] = {"force", "prescribed", "u0"};
  for (int k = 0; k < 3; ++k)
    for (int64_t i = 0; all[k] && i < 3 * (int64_t)s->mesh->n_nodes; ++i)
      if (!isfinite(all[k][i]))
        return rf_fail(err, RF_ERR_ARG, "%s at node %lld is %g; every value must be finite",
                       name[k], (long long)(i / 3), all[k][i]);
  return rf_solid_require_held(s, err);
}

rf_status rf_statics_create(const rf_solid *s, rf_statics **out, rf_error *err) {
  rf_status st = RF_OK;
  const int64_t n = 3 * (int64_t)s->mesh->n_nodes, n_free = 3 * (int64_t)s->n_free;
  rf_statics *w = NULL;
  *out = NULL;
  RF_ALLOC(w, 1);
  w->solid = s;
  RF_ALLOC(w->load, n);
  RF_ALLOC(w->force, n);
  RF_ALLOC(w->trial, n);
  RF_ALLOC(w->step, n);
  RF_ALLOC(w->residual, n_free);
  RF_ALLOC(w->direction, n_free);
  RF_ALLOC(w->blocks, 9 * (int64_t)s->graph.ptr[s->mesh->n_nodes]);
  RF_ALLOC(w->next, n);
  RF_ALLOC(w->move, n);
  RF_ALLOC(w->start, n);
  if (s->n_free > 0) {
    RF_TRY(rf_solid_free_pattern(s, &w->lower, err));
    RF_TRY(rf_cholesky_create(&w->lower, &w->factor, err));
  }
  *out = w;
  w = NULL;
done:
  rf_statics_free(w);
  return st;
}

void rf_statics_free(rf_statics *w) {
  if (!w) return;
  rf_csc_free(&w->lower);
  rf_cholesky_free(w->factor);
  rf_free(w->load);
  rf_free(w->force);
  rf_free(w->trial);
  rf_free(w->step);
  rf_free(w->residual);
  rf_free(w->direction);
  rf_free(w->blocks);
  rf_free(w->next);
  rf_free(w->move);
  rf_free(w->start);
  rf_free(w);
}

// Towards w->next, the equilibrium under `part` of the load and of the way that the fixed nodes go
// from where they started to where they belong.
static rf_status advance(rf_statics *w, double part, const double *force, const double *prescribed,
                         const double *u, rf_error *err) {
  const rf_solid *s = w->solid;
  const int64_t n = 3 * (int64_t)s->mesh->n_nodes;
  for (int64_t i = 0; i < n; ++i) w->load[i] = part * force[i];
  double moved = 0.0;
  for (int32_t j = 0; j < s->n_fixed; ++j)
    for (int c = 0; c < 3; ++c) {
      const int64_t i = 3 * (int64_t)s->fixed[j] + c;
      const double end = prescribed ? prescribed[i] : 0.0;
      w->move[i] = part < 1.0 ? w->start[i] + part * (end - w->start[i]) - u[i] : end - u[i];
      moved = fmax(moved, fabs(w->move[i]));
    }
  memcpy(w->next, u, (size_t)n * sizeof *w->next);
  if (s->n_free == 0) {
    for (int64_t i = 0; i < n; ++i) w->next[i] += w->move[i];
    return RF_OK;
  }
  rf_status st = moved > 0.0 ? predict(w, w->move, w->next, err) : RF_OK;
  if (st >= 0) st = iterate(w, w->next, err);
  if (st < 0 || w->set->halvings == 0) return st;
  const int32_t inverted = rf_solid_inverted(s, w->next);
  if (inverted > w->inverted)
    return rf_fail(err, RF_ERR_NO_CONVERGENCE, "%d elements turn inside out", inverted);
  return st;
}

rf_status rf_statics_solve(rf_statics *w, const rf_run *run, const rf_static_settings *set,
                           const double *force, const double *prescribed, double *u,
                           rf_static_report *report, rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *s = w->solid;
  const int64_t n = 3 * (int64_t)s->mesh->n_nodes;
  memset(report, 0, sizeof *report);
  RF_TRY(check(s, set, force, prescribed, u, err));
  w->run = run;
  w->set = set;
  w->report = report;
  w->shift = 0.0;
  w->at_rest = true;
  for (int64_t i = 0; i < n; ++i) w->at_rest = w->at_rest && u[i] == 0.0;
  memcpy(w->start, u, (size_t)n * sizeof *w->start);
  memset(w->move, 0, (size_t)n * sizeof *w->move);
  w->inverted = set->halvings > 0 ? rf_solid_inverted(s, u) : 0;

  // the load in the smallest parts that there may be: fractions are exact
  w->parts = (int64_t)set->load_steps << set->halvings;
  w->at = 0;
  int64_t step = (int64_t)1 << set->halvings;
  int32_t successes = 0;
  while (w->at < w->parts) {
    if (step > w->parts - w->at) step = w->parts - w->at;
    const bool at_rest = w->at_rest;
    st = advance(w, (double)(w->at + step) / (double)w->parts, force, prescribed, u, err);
    if (st == RF_ERR_NO_CONVERGENCE && step > 1) {
      step /= 2;
      successes = 0;
      w->at_rest = at_rest;
      w->shift = 0.0;
      ++report->cuts;
      continue;
    }
    if (st < 0) goto done;
    w->at += step;
    memcpy(u, w->next, (size_t)n * sizeof *u);
    ++report->load_steps;
    report->fraction = (double)w->at / (double)w->parts;
    if (set->halvings > 0 && ++successes % 2 == 0) step *= 2;
    RF_TRY(rf_run_progress(run, w->at, w->parts, err));
  }
done:
  if (st == RF_ERR_NO_CONVERGENCE && err) {
    rf_error why = *err;
    why.text[160] = '\0';
    if (set->halvings > 0)
      rf_fail(err, st,
              "static solution found for %.6g of the load only, and not in steps of %.3g beyond: "
              "%s (%d load steps and %d iterations in all); lower the load",
              report->fraction, 1.0 / (double)w->parts, why.text, report->load_steps,
              report->iterations);
    else
      rf_fail(err, st,
              "static solution not found in load step %d of %d: %s (%d iterations in all, relative "
              "residual %.3g); apply the load in more steps, or lower it",
              report->load_steps + 1, set->load_steps, why.text, report->iterations,
              report->residual);
  }
  return st;
}

rf_status rf_solid_solve_static(const rf_solid *s, const rf_run *run, const rf_static_settings *set,
                                const double *force, const double *prescribed, double *u,
                                rf_static_report *report, rf_error *err) {
  rf_status st = RF_OK;
  rf_statics *w = NULL;
  memset(report, 0, sizeof *report);
  // a refusal should not come after the work
  RF_TRY(check(s, set, force, prescribed, u, err));
  RF_TRY(rf_statics_create(s, &w, err));
  RF_TRY(rf_statics_solve(w, run, set, force, prescribed, u, report, err));
done:
  rf_statics_free(w);
  return st;
}
