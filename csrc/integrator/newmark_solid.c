// Implicit Newmark for the unreduced solid: the scheme of integrator.h with sparse
// matrices, one symbolic factorization for all steps.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "integrator/held.h"
#include "integrator/integrator.h"
#include "linalg/cholesky.h"

struct rf_solid_newmark {
  rf_newmark_settings set;
  rf_newmark_coefficients coef;
  const rf_solid *solid;
  double time_s;
  rf_newmark_report report;
  double *u, *v, *a;         // state                     (n, 3)
  double *x, *xdot, *xddot;  // the step being computed   (n, 3)
  double *internal;          // R(x)                      (n, 3)
  double *residual;          // (n, 3)
  double *product;           // (n, 3)
  double *blocks;            // K(x)                      (entries, 3, 3)
  double *viscosity;         // of each material, NULL: no strain-rate damping (n_materials, 2)
  double *damping;           // D(x), with it             (entries, 3, 3)
  double *increment;         // over free nodes           (n_free, 3)
  rf_csc system;             // lower triangle over free DOFs
  rf_cholesky *factor;
};

// shifts tried when the tangent is not positive definite, each 4 times the one before
enum { MAX_SHIFTS = 30 };

rf_status rf_solid_newmark_create(const rf_solid *solid, const rf_run *run,
                                  const rf_newmark_settings *set, rf_solid_newmark **out,
                                  rf_error *err) {
  rf_status st = RF_OK;
  rf_solid_newmark *s = NULL;
  *out = NULL;
  const int64_t n = solid->mesh->n_nodes, dofs = 3 * n;
  if (solid->n_free < 1)
    return rf_fail(err, RF_ERR_MESH, "all %d nodes are fixed: nothing can move", solid->n_fixed);
  RF_ALLOC(s, 1);
  s->set = *set;
  s->solid = solid;
  RF_TRY(rf_newmark_check(set, &s->coef, err));
  double **const fields[] = {&s->u,     &s->v,        &s->a,        &s->x,      &s->xdot,
                             &s->xddot, &s->internal, &s->residual, &s->product};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) RF_ALLOC(*fields[i], dofs);
  RF_ALLOC(s->blocks, 9 * (int64_t)solid->graph.ptr[n]);
  RF_ALLOC(s->increment, 3 * (int64_t)solid->n_free);
  if (set->viscosity) {
    RF_TRY(rf_viscosity_check(solid->n_materials, set->viscosity, err));
    RF_ALLOC(s->viscosity, 2 * (int64_t)solid->n_materials);
    memcpy(s->viscosity, set->viscosity, 2 * (size_t)solid->n_materials * sizeof(double));
    RF_ALLOC(s->damping, 9 * (int64_t)solid->graph.ptr[n]);
  }
  s->set.viscosity = s->viscosity;
  RF_TRY(rf_solid_free_pattern(solid, &s->system, err));
  RF_TRY(rf_cholesky_create(&s->system, &s->factor, err));
  RF_TRY(rf_solid_newmark_reset(s, run, NULL, NULL, NULL, err));
  *out = s;
  s = NULL;
done:
  rf_solid_newmark_free(s);
  return st;
}

void rf_solid_newmark_free(rf_solid_newmark *s) {
  if (!s) return;
  double *const blocks[] = {s->u,         s->v,         s->a,        s->x,       s->xdot,
                            s->xddot,     s->internal,  s->residual, s->product, s->blocks,
                            s->increment, s->viscosity, s->damping};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) rf_free(blocks[i]);
  rf_csc_free(&s->system);
  rf_cholesky_free(s->factor);
  rf_free(s);
}

// Factor of `mass_factor` M + K; where K is too indefinite for that the mass factor
// grows until the sum is positive definite.
static rf_status factorize(rf_solid_newmark *s, double mass_factor, const double *blocks,
                           rf_error *err) {
  double factor = mass_factor;
  for (int shift = 0;; ++shift) {
    rf_solid_free_fill(s->solid, factor, blocks, &s->system);
    const rf_status st = rf_cholesky_factorize(s->factor, &s->system, NULL, err);
    if (st != RF_ERR_SINGULAR || shift == MAX_SHIFTS) return st;
    if (shift == 0) ++s->report.indefinite;
    factor *= 4.0;
  }
}

// residual = M (acc + alpha v) + beta K v + D v + R - f over free DOFs, zero at fixed ones
static rf_status residual_norm(rf_solid_newmark *s, const rf_run *run, const double *force,
                               double *norm, rf_error *err) {
  const rf_solid *solid = s->solid;
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  rf_status st;
  for (int64_t d = 0; d < dofs; ++d) s->product[d] = s->xddot[d] + s->set.damping_mass * s->xdot[d];
  st = rf_solid_mass_multiply(solid, run, 1, s->product, s->residual, err);
  if (st < 0) return st;
  if (s->set.damping_stiff > 0.0) {
    st = rf_solid_block_multiply(solid, run, s->blocks, 1, s->xdot, s->product, err);
    if (st < 0) return st;
    for (int64_t d = 0; d < dofs; ++d) s->residual[d] += s->set.damping_stiff * s->product[d];
  }
  if (s->viscosity) {
    st = rf_solid_damping(solid, run, s->viscosity, s->x, s->xdot, NULL, s->product, s->damping,
                          err);
    if (st < 0) return st;
    for (int64_t d = 0; d < dofs; ++d) s->residual[d] += s->product[d];
  }
  double sum = 0.0;
  // fixed nodes have no equation: what stands there is not read
  for (int32_t i = 0; i < solid->n_free; ++i)
    for (int32_t c = 0; c < 3; ++c) {
      const int64_t d = 3 * (int64_t)solid->free[i] + c;
      s->residual[d] += s->internal[d] - (force ? force[d] : 0.0);
      sum += s->residual[d] * s->residual[d];
    }
  *norm = sqrt(sum);
  return RF_OK;
}

static double free_norm(const rf_solid *solid, const double *x) {
  double sum = 0.0;
  for (int32_t i = 0; x && i < solid->n_free; ++i)
    for (int32_t c = 0; c < 3; ++c) {
      const double value = x[3 * (int64_t)solid->free[i] + c];
      sum += value * value;
    }
  return sqrt(sum);
}

static void update_rates(rf_solid_newmark *s) {
  const rf_newmark_coefficients c = s->coef;
  const int64_t dofs = 3 * (int64_t)s->solid->mesh->n_nodes;
  for (int64_t d = 0; d < dofs; ++d) {
    const double dx = s->x[d] - s->u[d];
    s->xddot[d] = c.a1 * dx - c.a2 * s->v[d] - c.a3 * s->a[d];
    s->xdot[d] = c.a4 * dx + c.a5 * s->v[d] + c.a6 * s->a[d];
  }
}

static bool all_finite(int64_t count, const double *x) {
  double sum = 0.0;
  for (int64_t d = 0; d < count; ++d) sum += fabs(x[d]);
  return isfinite(sum);
}

static rf_status one_step(rf_solid_newmark *s, const rf_run *run, const double *force,
                          rf_error *err) {
  const rf_solid *solid = s->solid;
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  const size_t bytes = (size_t)dofs * sizeof(double);
  const double of_mass = s->coef.a1 + s->coef.a4 * s->set.damping_mass;
  const double of_stiffness = 1.0 + s->coef.a4 * s->set.damping_stiff;
  const int64_t entries = 9 * (int64_t)solid->graph.ptr[solid->mesh->n_nodes];
  double scale = 0.0, residual = 0.0, now, history[RF_NEWMARK_HISTORY];
  int32_t solves = 0;
  bool converged = false;
  rf_status st = RF_OK;

  memcpy(s->x, s->u, bytes);
  for (int32_t iteration = 0; iteration < s->set.newton_max; ++iteration) {
    update_rates(s);
    RF_TRY(rf_solid_evaluate(solid, run, s->x, NULL, s->internal, s->blocks, err));
    RF_TRY(residual_norm(s, run, force, &now, err));
    if (!isfinite(now)) return rf_newmark_diverged(s->time_s, err);
    if (iteration == 0)
      scale = fmax(now, fmax(free_norm(solid, s->internal), free_norm(solid, force)));
    residual = scale > 0.0 ? now / scale : 0.0;
    if (iteration < RF_NEWMARK_HISTORY) history[iteration] = residual;
    converged = now <= s->set.tolerance * scale;
    if (converged) break;

    // (of_mass M + of_stiffness K + a4 D) dx = -residual, divided by of_stiffness
    if (s->viscosity)
      for (int64_t i = 0; i < entries; ++i)
        s->blocks[i] += s->coef.a4 / of_stiffness * s->damping[i];
    st = factorize(s, of_mass / of_stiffness, s->blocks, err);
    if (st == RF_ERR_SINGULAR) return rf_newmark_diverged(s->time_s, err);
    if (st < 0) return st;
    ++s->report.solves;
    ++solves;
    rf_solid_gather(solid, s->residual, s->increment);
    RF_TRY(rf_cholesky_solve(s->factor, 1, s->increment, s->increment, err));
    for (int32_t i = 0; i < solid->n_free; ++i)
      for (int32_t c = 0; c < 3; ++c)
        s->x[3 * (int64_t)solid->free[i] + c] -= s->increment[3 * (int64_t)i + c] / of_stiffness;
  }
  update_rates(s);
  if (!(all_finite(dofs, s->x) && all_finite(dofs, s->xdot) && all_finite(dofs, s->xddot)))
    return rf_newmark_diverged(s->time_s, err);
  memcpy(s->u, s->x, bytes);
  memcpy(s->v, s->xdot, bytes);
  memcpy(s->a, s->xddot, bytes);
  rf_newmark_note_rt(&s->report, solves, converged, history, residual);
  s->time_s = (double)s->report.steps * s->set.dt_s;  // a sum would drift
done:
  return st;
}

rf_status rf_solid_newmark_step(rf_solid_newmark *s, const rf_run *run, const double *force,
                                int64_t n, rf_error *err) {
  for (int64_t i = 0; i < n; ++i) {
    const rf_status st = one_step(s, run, force, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

rf_status rf_solid_newmark_reset(rf_solid_newmark *s, const rf_run *run, const double *u,
                                 const double *v, const double *a, rf_error *err) {
  rf_status st = RF_OK;
  const rf_solid *solid = s->solid;
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  const size_t bytes = (size_t)dofs * sizeof(double);
  RF_TRY(rf_require_still(solid, u, "q", err));
  RF_TRY(rf_require_still(solid, v, "qdot", err));
  RF_TRY(rf_require_still(solid, a, "qddot", err));

  // the step's own arrays serve until everything is known
  memset(s->x, 0, bytes);
  memset(s->xdot, 0, bytes);
  memset(s->xddot, 0, bytes);
  if (u) memcpy(s->x, u, bytes);
  if (v) memcpy(s->xdot, v, bytes);
  if (a) {
    memcpy(s->xddot, a, bytes);
  } else if (u || v) {
    // M a = -(alpha M + beta K + D) v - R
    RF_TRY(rf_solid_evaluate(solid, run, s->x, NULL, s->internal, s->blocks, err));
    RF_TRY(rf_solid_block_multiply(solid, run, s->blocks, 1, s->xdot, s->product, err));
    for (int64_t d = 0; d < dofs; ++d)
      s->residual[d] = -s->internal[d] - s->set.damping_stiff * s->product[d];
    if (s->viscosity) {
      RF_TRY(
          rf_solid_damping(solid, run, s->viscosity, s->x, s->xdot, NULL, s->product, NULL, err));
      for (int64_t d = 0; d < dofs; ++d) s->residual[d] -= s->product[d];
    }
    rf_solid_gather(solid, s->residual, s->increment);
    rf_solid_free_fill(solid, 1.0, NULL, &s->system);
    RF_TRY(rf_cholesky_factorize(s->factor, &s->system, NULL, err));
    RF_TRY(rf_cholesky_solve(s->factor, 1, s->increment, s->increment, err));
    rf_solid_scatter(solid, s->increment, s->xddot);
    for (int64_t d = 0; d < dofs; ++d) s->xddot[d] -= s->set.damping_mass * s->xdot[d];
  }
  if (!(all_finite(dofs, s->x) && all_finite(dofs, s->xdot) && all_finite(dofs, s->xddot))) {
    st = rf_fail(err, RF_ERR_DIVERGED,
                 "the initial state or its acceleration is not finite; q or qdot is too large");
    goto done;
  }
  memcpy(s->u, s->x, bytes);
  memcpy(s->v, s->xdot, bytes);
  memcpy(s->a, s->xddot, bytes);
  s->time_s = 0.0;
  s->report = (rf_newmark_report){0};
done:
  return st;
}

const double *rf_solid_newmark_u(const rf_solid_newmark *s) { return s->u; }
const double *rf_solid_newmark_v(const rf_solid_newmark *s) { return s->v; }
const double *rf_solid_newmark_a(const rf_solid_newmark *s) { return s->a; }
double rf_solid_newmark_time(const rf_solid_newmark *s) { return s->time_s; }
rf_newmark_report rf_solid_newmark_report(const rf_solid_newmark *s) { return s->report; }
