// Static equilibrium R(u) = f of a solid, fixed nodes moved to prescribed places.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "dynamics/equilibrium.h"

static const double AGREES = 1e-8;  // of places of fixed nodes, over the largest

struct rf_statics {
  rf_equilibrium *equilibrium;
  const rf_solid *solid;
  const double *prescribed;     // places of the fixed nodes, NULL: zero
  double *step, *move, *start;  // (ld)
  int32_t inverted;             // elements that were inside out at the start
};

// Adds to u its linear response to moving the fixed nodes by w->move and to the new load.
static rf_status predict(rf_equilibrium *e, double *u) {
  rf_statics *w = e->context;
  rf_system *s = e->system;
  rf_status st = RF_OK;
  RF_TRY(rf_equilibrium_evaluate(e, u, true));
  RF_TRY(rf_equilibrium_factorize(e));
  RF_TRY(s->operations->multiply(s, w->move, w->step));
  for (int64_t i = 0; i < s->n; ++i) e->residual[i] -= w->step[i];
  RF_TRY(s->operations->solve(s, e->residual, e->direction));
  for (int64_t i = 0; i < s->n; ++i) u[i] += e->direction[i] + w->move[i];
  ++e->report->iterations;
  e->at_rest = false;
done:
  return st;
}

// The fixed nodes move the same part of the way from their start to their prescribed places.
static rf_status begin(rf_equilibrium *e, double part, double *u) {
  rf_statics *w = e->context;
  const rf_solid *s = w->solid;
  double moved = 0.0;
  for (int32_t j = 0; j < s->n_fixed; ++j)
    for (int c = 0; c < 3; ++c) {
      const int64_t i = 3 * (int64_t)s->fixed[j] + c;
      const double end = w->prescribed ? w->prescribed[i] : 0.0;
      w->move[i] = part < 1.0 ? w->start[i] + part * (end - w->start[i]) - u[i] : end - u[i];
      moved = fmax(moved, fabs(w->move[i]));
    }
  rf_constraints_fill_rt(s->mesh->constraints, w->move);
  if (s->n_free > 0) return moved > 0.0 ? predict(e, u) : RF_OK;
  for (int64_t i = 0; i < e->system->n; ++i) u[i] += w->move[i];
  return rf_solid_require_defined(s, u, "prescribed", e->system->err);
}

static rf_status accept(const rf_equilibrium *e, const double *u, rf_error *err) {
  const rf_statics *w = e->context;
  if (e->set->halvings == 0) return RF_OK;
  const int32_t inverted = rf_solid_inverted(w->solid, u);
  if (inverted <= w->inverted) return RF_OK;
  return rf_fail(err, RF_ERR_NO_CONVERGENCE, "%d element%s inside out", inverted,
                 inverted == 1 ? " turns" : "s turn");
}

static const rf_equilibrium_hooks HOOKS = {.begin = begin, .accept = accept};

// A place prescribed to a node that follows fixed ones alone is theirs, or 0: none.
static rf_status check_places(const rf_solid *s, const double *prescribed, rf_error *err) {
  const rf_constraints *c = s->mesh->constraints;
  double largest = 0.0;
  if (!c || !prescribed) return RF_OK;
  for (int32_t j = 0; j < s->n_fixed; ++j)
    for (int i = 0; i < 3; ++i)
      largest = fmax(largest, fabs(prescribed[3 * (int64_t)s->fixed[j] + i]));
  for (int32_t k = 0; k < c->n; ++k) {
    double mean[3] = {0.0, 0.0, 0.0};
    bool held = true;
    for (int32_t p = c->ptr[k]; p < c->ptr[k + 1]; ++p) {
      held = held && s->free_of[c->masters[p]] == -1;
      for (int i = 0; i < 3; ++i)
        mean[i] += c->weights[p] * prescribed[3 * (int64_t)c->masters[p] + i];
    }
    for (int i = 0; held && i < 3; ++i) {
      const double value = prescribed[3 * (int64_t)c->slaves[k] + i];
      if (value == 0.0 || fabs(value - mean[i]) <= AGREES * largest) continue;
      return rf_fail(err, RF_ERR_ARG,
                     "prescribed[%d, %d] is %g, but node %d is constrained, and the mean of its "
                     "masters, all fixed, is %g: give it that value (mesh.constraints.fill) or 0",
                     c->slaves[k], i, value, c->slaves[k], mean[i]);
    }
  }
  return RF_OK;
}

static rf_status check(const rf_solid *s, const rf_static_settings *set, const double *force,
                       const double *prescribed, const double *u, rf_error *err) {
  const rf_status st = rf_statics_check(set, err);
  if (st < 0) return st;
  const double *const all[3] = {force, prescribed, u};
  const char *const name[3] = {"force", "prescribed", "u0"};
  for (int k = 0; k < 3; ++k)
    for (int64_t i = 0; all[k] && i < 3 * (int64_t)s->mesh->n_nodes; ++i)
      if (!isfinite(all[k][i]))
        return rf_fail(err, RF_ERR_ARG, "%s at node %lld is %g; every value must be finite",
                       name[k], (long long)(i / 3), all[k][i]);
  const rf_status agrees = check_places(s, prescribed, err);
  if (agrees < 0) return agrees;
  const rf_status follows =
      rf_constraints_require(s->mesh->constraints, s->mesh->n_nodes, u, "u0", err);
  if (follows < 0) return follows;
  const rf_status defined = rf_solid_require_defined(s, u, "u0", err);
  return defined < 0 ? defined : rf_solid_require_held(s, err);
}

rf_status rf_statics_create(const rf_solid *s, rf_statics **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_statics *w = NULL;
  rf_system *system;
  *out = NULL;
  RF_ALLOC(w, 1);
  w->solid = s;
  RF_TRY(rf_system_solid(s, NULL, &(rf_system_damping){0}, false, &system, err));
  RF_TRY(rf_equilibrium_create(system, &HOOKS, w, &w->equilibrium, err));
  RF_ALLOC(w->step, system->ld);
  RF_ALLOC(w->move, system->ld);
  RF_ALLOC(w->start, system->ld);
  *out = w;
  w = NULL;
done:
  rf_statics_free(w);
  return st;
}

void rf_statics_free(rf_statics *w) {
  if (!w) return;
  rf_equilibrium_free(w->equilibrium);
  rf_free(w->step);
  rf_free(w->move);
  rf_free(w->start);
  rf_free(w);
}

rf_status rf_statics_solve(rf_statics *w, const rf_run *run, const rf_static_settings *set,
                           const double *force, const double *prescribed, double *u,
                           rf_static_report *report, rf_error *err) {
  rf_equilibrium *e = w->equilibrium;
  const int32_t n = e->system->n;
  memset(report, 0, sizeof *report);
  const rf_status st = check(w->solid, set, force, prescribed, u, err);
  if (st < 0) return st;
  w->prescribed = prescribed;
  e->at_rest = true;
  for (int32_t i = 0; i < n; ++i) e->at_rest = e->at_rest && u[i] == 0.0;
  memcpy(w->start, u, (size_t)n * sizeof *u);
  memset(w->move, 0, (size_t)n * sizeof *u);
  w->inverted = set->halvings > 0 ? rf_solid_inverted(w->solid, u) : 0;
  const rf_status solved = rf_equilibrium_solve(e, run, set, force, u, report, err);
  report->inverted = rf_solid_inverted(w->solid, u);
  return solved;
}

rf_status rf_statics_solve_solid(const rf_solid *s, const rf_run *run,
                                 const rf_static_settings *set, const double *force,
                                 const double *prescribed, double *u, rf_static_report *report,
                                 rf_error *err) {
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
