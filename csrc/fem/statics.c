// Static equilibrium R(u) = f of a solid, by fem/newton.c over its free nodes.
#include "fem/statics.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "fem/newton.h"
#include "linalg/vector.h"

struct rf_statics {
  rf_newton newton;
  const rf_solid *solid;
  const double *whole, *prescribed;  // load, and where the fixed nodes belong, NULL: zero
  double *load, *force;              // part of the load, R          (n, 3)
  double *step, *move, *start;       // (n, 3)
  double *blocks;                    // tangent, on and above the diagonal
  rf_csc lower;
  rf_cholesky *factor;
  int32_t inverted;  // elements that were inside out to begin with
};

static rf_status evaluate(rf_newton *n, const double *u, bool tangent, rf_error *err) {
  rf_statics *w = n->context;
  double energy;
  const rf_status st = rf_solid_evaluate_upper(w->solid, n->run, u, &energy, w->force,
                                               tangent ? w->blocks : NULL, err);
  if (st < 0) return st;
  const double work = rf_dot(n->n_values, w->load, u);
  n->potential = energy - work;
  n->magnitude = energy + fabs(work);
  n->scale = fmax(rf_norm(n->n_values, w->load), rf_norm(n->n_values, w->force));
  for (int64_t i = 0; i < n->n_values; ++i) w->step[i] = w->load[i] - w->force[i];
  rf_solid_gather(w->solid, w->step, n->residual);
  return RF_OK;
}

static double rounding(const rf_newton *n, const double *u) {
  const rf_statics *w = n->context;
  const rf_solid *s = w->solid;
  double sum = 0.0;
  for (int32_t k = 0; k < s->n_free; ++k)
    for (int r = 0; r < 3; ++r) {
      double row = 0.0;
      for (int32_t p = s->graph.ptr[s->free[k]]; p < s->graph.ptr[s->free[k] + 1]; ++p) {
        // below the diagonal stands the transposed block of the other triangle
        const bool below = s->graph.col[p] < s->free[k];
        const double *B = w->blocks + 9 * (int64_t)(below ? s->mirror[p] : p) + (below ? r : 3 * r);
        for (int c = 0; c < 3; ++c)
          row += fabs(B[below ? 3 * c : c] * u[3 * (int64_t)s->graph.col[p] + c]);
      }
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

static double stiffness_per_mass(const rf_newton *n) {
  const rf_statics *w = n->context;
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

static rf_status factorize(rf_newton *n, double shift, rf_error *err) {
  rf_statics *w = n->context;
  int32_t column = 0;
  rf_solid_free_fill(w->solid, shift, w->blocks, &w->lower);
  const rf_status st = rf_cholesky_factorize(w->factor, n->run, &w->lower, &column, err);
  return st == RF_ERR_SINGULAR && n->at_rest ? refuse_singular(w, column, err) : st;
}

static rf_status solve(rf_newton *n, rf_error *err) {
  const rf_statics *w = n->context;
  return rf_cholesky_solve(w->factor, n->run, 1, n->residual, n->direction, err);
}

static void move(const rf_newton *n, double length, const double *from, double *to) {
  const rf_statics *w = n->context;
  rf_solid_scatter(w->solid, n->direction, to);
  for (int64_t i = 0; i < n->n_values; ++i) to[i] = from[i] + length * to[i];
}

// the linear answer to moving the fixed nodes by w->move and to the new load
static rf_status predict(rf_newton *n, double *u, rf_error *err) {
  rf_statics *w = n->context;
  const rf_solid *s = w->solid;
  rf_status st = RF_OK;
  RF_TRY(evaluate(n, u, true, err));
  RF_TRY(rf_newton_factorize(n, err));
  RF_TRY(rf_solid_block_multiply(s, n->run, w->blocks, 1, w->move, w->step, err));
  rf_solid_gather(s, w->step, n->direction);
  for (int64_t i = 0; i < n->n_unknowns; ++i) n->residual[i] -= n->direction[i];
  RF_TRY(solve(n, err));
  rf_solid_scatter(s, n->direction, w->step);
  for (int64_t i = 0; i < n->n_values; ++i) u[i] += w->step[i] + w->move[i];
  ++n->report->iterations;
  n->at_rest = false;
done:
  return st;
}

// The fixed nodes go the same part of their way from where they started to where they belong.
static rf_status begin(rf_newton *n, double part, double *u, rf_error *err) {
  rf_statics *w = n->context;
  const rf_solid *s = w->solid;
  for (int64_t i = 0; i < n->n_values; ++i) w->load[i] = part * w->whole[i];
  double moved = 0.0;
  for (int32_t j = 0; j < s->n_fixed; ++j)
    for (int c = 0; c < 3; ++c) {
      const int64_t i = 3 * (int64_t)s->fixed[j] + c;
      const double end = w->prescribed ? w->prescribed[i] : 0.0;
      w->move[i] = part < 1.0 ? w->start[i] + part * (end - w->start[i]) - u[i] : end - u[i];
      moved = fmax(moved, fabs(w->move[i]));
    }
  if (s->n_free > 0) return moved > 0.0 ? predict(n, u, err) : RF_OK;
  for (int64_t i = 0; i < n->n_values; ++i) u[i] += w->move[i];
  return RF_OK;
}

static rf_status accept(const rf_newton *n, const double *u, rf_error *err) {
  const rf_statics *w = n->context;
  if (n->set->halvings == 0) return RF_OK;
  const int32_t inverted = rf_solid_inverted(w->solid, u);
  if (inverted <= w->inverted) return RF_OK;
  return rf_fail(err, RF_ERR_NO_CONVERGENCE, "%d elements turn inside out", inverted);
}

static const rf_newton_problem PROBLEM = {.begin = begin,
                                          .evaluate = evaluate,
                                          .stiffness_per_mass = stiffness_per_mass,
                                          .factorize = factorize,
                                          .solve = solve,
                                          .move = move,
                                          .rounding = rounding,
                                          .accept = accept,
                                          .factor_is_dear = true};

static rf_status check(const rf_solid *s, const rf_static_settings *set, const double *force,
                       const double *prescribed, const double *u, rf_error *err) {
  const rf_status st = rf_newton_check(set, err);
  if (st < 0) return st;
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
  w->newton = (rf_newton){.problem = &PROBLEM, .context = w, .n_values = n, .n_unknowns = n_free};
  double **const fields[] = {&w->load,  &w->force,        &w->step,       &w->move,
                             &w->start, &w->newton.trial, &w->newton.next};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) RF_ALLOC(*fields[i], n);
  RF_ALLOC(w->newton.residual, n_free);
  RF_ALLOC(w->newton.direction, n_free);
  RF_ALLOC(w->blocks, 9 * (int64_t)s->graph.ptr[s->mesh->n_nodes]);
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
  double *const blocks[] = {w->load,
                            w->force,
                            w->step,
                            w->move,
                            w->start,
                            w->blocks,
                            w->newton.trial,
                            w->newton.next,
                            w->newton.residual,
                            w->newton.direction};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) rf_free(blocks[i]);
  rf_csc_free(&w->lower);
  rf_cholesky_free(w->factor);
  rf_free(w);
}

rf_status rf_statics_solve(rf_statics *w, const rf_run *run, const rf_static_settings *set,
                           const double *force, const double *prescribed, double *u,
                           rf_static_report *report, rf_error *err) {
  const size_t bytes = (size_t)w->newton.n_values * sizeof *u;
  memset(report, 0, sizeof *report);
  const rf_status st = check(w->solid, set, force, prescribed, u, err);
  if (st < 0) return st;
  w->whole = force;
  w->prescribed = prescribed;
  w->newton.at_rest = true;
  for (int64_t i = 0; i < w->newton.n_values; ++i)
    w->newton.at_rest = w->newton.at_rest && u[i] == 0.0;
  memcpy(w->start, u, bytes);
  memset(w->move, 0, bytes);
  w->inverted = set->halvings > 0 ? rf_solid_inverted(w->solid, u) : 0;
  return rf_newton_solve(&w->newton, run, set, u, report, err);
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
