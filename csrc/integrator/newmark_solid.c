// Implicit Newmark for the unreduced solid: the scheme of newmark.h with sparse
// matrices, one symbolic factorization for all steps.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "integrator/newmark_solid.h"
#include "integrator/solid_motion.h"
#include "linalg/cholesky.h"

struct rf_solid_newmark {
  rf_newmark_settings set;
  rf_newmark_coefficients coef;
  double time_s;
  rf_newmark_report report;
  rf_solid_motion motion;
  double *residual;   // (n, 3)
  double *damping;    // D(x), with strain-rate damping  (entries, 3, 3)
  double *increment;  // over free nodes                 (n_free, 3)
  rf_csc system;      // lower triangle over free DOFs
  rf_cholesky *factor;
};

rf_status rf_solid_newmark_create(const rf_solid *solid, const rf_run *run,
                                  const rf_newmark_settings *set, rf_solid_newmark **out,
                                  rf_error *err) {
  rf_status st = RF_OK;
  rf_solid_newmark *s = NULL;
  *out = NULL;
  RF_ALLOC(s, 1);
  s->set = *set;
  RF_TRY(rf_newmark_check(set, &s->coef, err));
  RF_TRY(rf_solid_motion_init(&s->motion, solid, true, set->damping_stiff, set->viscosity,
                              set->load, err));
  s->set.viscosity = s->motion.viscosity;
  if (set->load) s->set.load = s->motion.load;
  const int32_t n = solid->mesh->n_nodes;
  RF_ALLOC(s->residual, 3 * (int64_t)n);
  RF_ALLOC(s->increment, 3 * (int64_t)solid->n_free);
  if (set->viscosity) RF_ALLOC(s->damping, 9 * (int64_t)solid->graph.ptr[n]);
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
  rf_solid_motion_release(&s->motion);
  rf_free(s->residual);
  rf_free(s->damping);
  rf_free(s->increment);
  rf_csc_free(&s->system);
  rf_cholesky_free(s->factor);
  rf_free(s);
}

// Factor of `mass_factor` M + K(x); where K is too indefinite for that the mass factor
// grows until the sum is positive definite.
static rf_status factorize(rf_solid_newmark *s, const rf_run *run, double mass_factor,
                           rf_error *err) {
  double factor = mass_factor;
  for (int shift = 0;; ++shift) {
    rf_solid_free_fill(s->motion.solid, factor, s->motion.stiffness, &s->system);
    const rf_status st = rf_cholesky_factorize(s->factor, run, &s->system, NULL, err);
    if (st != RF_ERR_SINGULAR || shift == RF_NEWMARK_SHIFTS) return st;
    if (shift == 0) ++s->report.indefinite;
    factor *= 4.0;
  }
}

// residual = M (acc + alpha v) + beta K v + D v + R - f over free DOFs, zero at fixed ones
static rf_status residual_norm(rf_solid_newmark *s, const rf_run *run, double *norm,
                               rf_error *err) {
  rf_solid_motion *m = &s->motion;
  const rf_solid *solid = m->solid;
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  rf_status st;
  for (int64_t d = 0; d < dofs; ++d) m->product[d] = m->xddot[d] + s->set.damping_mass * m->xdot[d];
  st = rf_solid_mass_multiply(solid, run, 1, m->product, s->residual, err);
  if (st < 0) return st;
  st = rf_solid_motion_damp(m, run, s->damping, s->residual, err);
  if (st < 0) return st;
  double sum = 0.0;
  // fixed nodes have no equation: what stands there is not read
  for (int32_t i = 0; i < solid->n_free; ++i)
    for (int32_t c = 0; c < 3; ++c) {
      const int64_t d = 3 * (int64_t)solid->free[i] + c;
      s->residual[d] += m->internal[d] - m->applied[d];
      sum += s->residual[d] * s->residual[d];
    }
  *norm = sqrt(sum);
  return RF_OK;
}

static double free_norm(const rf_solid *solid, const double *x) {
  double sum = 0.0;
  for (int32_t i = 0; i < solid->n_free; ++i)
    for (int32_t c = 0; c < 3; ++c) {
      const double value = x[3 * (int64_t)solid->free[i] + c];
      sum += value * value;
    }
  return sqrt(sum);
}

static void update_rates(rf_solid_newmark *s) {
  const rf_newmark_coefficients c = s->coef;
  rf_solid_motion *m = &s->motion;
  const int64_t dofs = 3 * (int64_t)m->solid->mesh->n_nodes;
  for (int64_t d = 0; d < dofs; ++d) {
    const double dx = m->x[d] - m->u[d];
    m->xddot[d] = c.a1 * dx - c.a2 * m->v[d] - c.a3 * m->a[d];
    m->xdot[d] = c.a4 * dx + c.a5 * m->v[d] + c.a6 * m->a[d];
  }
}

static rf_status one_step(rf_solid_newmark *s, const rf_run *run, rf_error *err) {
  rf_solid_motion *m = &s->motion;
  const rf_solid *solid = m->solid;
  const double of_mass = s->coef.a1 + s->coef.a4 * s->set.damping_mass;
  const double of_stiffness = 1.0 + s->coef.a4 * s->set.damping_stiff;
  const int64_t entries = 9 * (int64_t)solid->graph.ptr[solid->mesh->n_nodes];
  double scale = 0.0, residual = 0.0, now, history[RF_NEWMARK_HISTORY];
  int32_t solves = 0;
  bool converged = false;
  rf_status st = RF_OK;

  memcpy(m->x, m->u, 3 * (size_t)solid->mesh->n_nodes * sizeof(double));
  for (int32_t iteration = 0; iteration < s->set.newton_max; ++iteration) {
    update_rates(s);
    RF_TRY(rf_solid_motion_evaluate(m, run, err));
    RF_TRY(residual_norm(s, run, &now, err));
    if (!isfinite(now)) return rf_newmark_diverged(s->time_s, err);
    if (iteration == 0)
      scale = fmax(now, fmax(free_norm(solid, m->internal), free_norm(solid, m->applied)));
    residual = scale > 0.0 ? now / scale : 0.0;
    if (iteration < RF_NEWMARK_HISTORY) history[iteration] = residual;
    converged = now <= s->set.tolerance * scale;
    if (converged) break;

    // (of_mass M + of_stiffness K + a4 D) dx = -residual, divided by of_stiffness
    if (s->damping)
      for (int64_t i = 0; i < entries; ++i)
        m->stiffness[i] += s->coef.a4 / of_stiffness * s->damping[i];
    st = factorize(s, run, of_mass / of_stiffness, err);
    if (st == RF_ERR_SINGULAR) return rf_newmark_diverged(s->time_s, err);
    if (st < 0) return st;
    ++s->report.solves;
    ++solves;
    rf_solid_gather(solid, s->residual, s->increment);
    RF_TRY(rf_cholesky_solve(s->factor, run, 1, s->increment, s->increment, err));
    for (int32_t i = 0; i < solid->n_free; ++i)
      for (int32_t c = 0; c < 3; ++c)
        m->x[3 * (int64_t)solid->free[i] + c] -= s->increment[3 * (int64_t)i + c] / of_stiffness;
  }
  update_rates(s);
  if (!rf_solid_motion_keep(m)) return rf_newmark_diverged(s->time_s, err);
  rf_newmark_note_rt(&s->report, solves, converged, history, residual);
  s->time_s = (double)s->report.steps * s->set.dt_s;  // a sum would drift
done:
  return st;
}

rf_status rf_solid_newmark_step(rf_solid_newmark *s, const rf_run *run, const double *force,
                                int64_t n, rf_error *err) {
  rf_solid_motion_apply(&s->motion, force);
  for (int64_t i = 0; i < n; ++i) {
    const rf_status st = one_step(s, run, err);
    if (st < 0) return st;
  }
  return RF_OK;
}

rf_status rf_solid_newmark_reset(rf_solid_newmark *s, const rf_run *run, const double *u,
                                 const double *v, const double *a, rf_error *err) {
  rf_status st = RF_OK;
  rf_solid_motion *m = &s->motion;
  const rf_solid *solid = m->solid;
  const int64_t dofs = 3 * (int64_t)solid->mesh->n_nodes;
  RF_TRY(rf_solid_motion_start(m, u, v, a, err));
  if (!a && (u || v || s->set.load)) {
    // M a = load - (alpha M + beta K + D) v - R
    RF_TRY(rf_solid_motion_evaluate(m, run, err));
    RF_TRY(rf_solid_motion_damp(m, run, NULL, m->internal, err));
    for (int64_t d = 0; d < dofs; ++d) s->residual[d] = m->load[d] - m->internal[d];
    rf_solid_gather(solid, s->residual, s->increment);
    rf_solid_free_fill(solid, 1.0, NULL, &s->system);
    RF_TRY(rf_cholesky_factorize(s->factor, run, &s->system, NULL, err));
    RF_TRY(rf_cholesky_solve(s->factor, run, 1, s->increment, s->increment, err));
    rf_solid_scatter(solid, s->increment, m->xddot);
    for (int64_t d = 0; d < dofs; ++d) m->xddot[d] -= s->set.damping_mass * m->xdot[d];
  }
  if (!rf_solid_motion_keep(m)) return rf_motion_not_finite(err);
  s->time_s = 0.0;
  s->report = (rf_newmark_report){0};
done:
  return st;
}

const double *rf_solid_newmark_u(const rf_solid_newmark *s) { return s->motion.u; }
const double *rf_solid_newmark_v(const rf_solid_newmark *s) { return s->motion.v; }
const double *rf_solid_newmark_a(const rf_solid_newmark *s) { return s->motion.a; }
void rf_solid_newmark_set_steps(rf_solid_newmark *s, int64_t steps) {
  s->report.steps = steps;
  s->time_s = (double)steps * s->set.dt_s;
}
double rf_solid_newmark_time(const rf_solid_newmark *s) { return s->time_s; }
rf_newmark_report rf_solid_newmark_report(const rf_solid_newmark *s) { return s->report; }
