#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "integrator/newmark.h"
#include "integrator/reduced_motion.h"
#include "linalg/dense_rt.h"

// least of a step with a stiffness from contact: see the header
static const double ADDED_GAMMA = 0.6;

static rf_newmark_coefficients coefficients(double h, double b, double g) {
  return (rf_newmark_coefficients){.a1 = 1.0 / (b * h * h),
                                   .a2 = 1.0 / (b * h),
                                   .a3 = (1.0 - 2.0 * b) / (2.0 * b),
                                   .a4 = g / (b * h),
                                   .a5 = 1.0 - g / b,
                                   .a6 = (1.0 - g / (2.0 * b)) * h};
}

rf_status rf_newmark_check(const rf_newmark_settings *set, rf_newmark_coefficients *out,
                           rf_error *err) {
  const rf_status st = rf_motion_check(set->dt_s, set->damping_mass, set->damping_stiff, err);
  if (st < 0) return st;
  if (!(isfinite(set->beta) && set->beta > 0.0 && set->beta <= 1.0))
    return rf_fail(err, RF_ERR_ARG, "beta must be in (0, 1] for an implicit scheme, got %g%s",
                   set->beta,
                   set->beta == 0.0 ? "; beta = 0 is explicit: use CentralDifferences" : "");
  if (!(isfinite(set->gamma) && set->gamma >= 0.0 && set->gamma <= 1.0))
    return rf_fail(err, RF_ERR_ARG, "gamma must be in [0, 1], got %g", set->gamma);
  if (!(isfinite(set->tolerance) && set->tolerance >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "tol must be finite and >= 0, got %g", set->tolerance);
  if (!(set->newton_max >= 1 && set->newton_max <= 1000))
    return rf_fail(err, RF_ERR_ARG, "newton_max must be between 1 and 1000, got %d",
                   set->newton_max);
  *out = coefficients(set->dt_s, set->beta, set->gamma);
  return RF_OK;
}

rf_status rf_newmark_diverged(double time_s, rf_error *err) {
  return rf_fail(err, RF_ERR_DIVERGED,
                 "the simulation diverged at t = %g s: displacement, velocity or tangent is no "
                 "longer finite or solvable; the state before this step is kept; try a smaller "
                 "dt, more damping or newton_max > 1",
                 time_s);
}

rf_status rf_newmark_explain(const rf_newmark *s, const char *who, const char *remedy,
                             rf_error *err) {
  if (!(s->displaced_m > 0.0)) return rf_newmark_diverged(s->time_s, err);
  return rf_fail(err, RF_ERR_DIVERGED,
                 "%s diverged at t = %g s: the body would be displaced by up to %.3g m, more than "
                 "%g times its length of %.3g m; the state before this step is kept; try %s, "
                 "more damping or a shorter step",
                 who, s->time_s, s->displaced_m, RF_NEWMARK_FARTHEST, s->model->length_m, remedy);
}

rf_status rf_newmark_create(const rf_reduced *model, const rf_newmark_settings *set,
                            rf_newmark **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_newmark *s = NULL;
  *out = NULL;
  RF_ALLOC(s, 1);
  s->set = *set;
  s->model = model;
  RF_TRY(rf_newmark_check(set, &s->coef, err));
  s->coef_added = s->coef;
  if (set->gamma < ADDED_GAMMA) {
    const double beta = 0.25 * (ADDED_GAMMA + 0.5) * (ADDED_GAMMA + 0.5);
    s->coef_added = coefficients(set->dt_s, fmax(set->beta, beta), ADDED_GAMMA);
  }
  s->now = &s->coef;
  RF_TRY(rf_reduced_motion_create(model, true, set->damping_stiff, set->strain_rate, set->load,
                                  &s->motion, err));
  if (set->load) s->set.load = s->motion->load;
  s->q = s->motion->q;
  s->qdot = s->motion->qdot;
  s->qddot = s->motion->qddot;
  RF_TRY(rf_newmark_reset(s, NULL, NULL, NULL, err));
  *out = s;
  s = NULL;
done:
  rf_newmark_free(s);
  return st;
}

void rf_newmark_free(rf_newmark *s) {
  if (!s) return;
  rf_free(s->motion);
  rf_free(s);
}

rf_status rf_newmark_reset(rf_newmark *s, const double *q, const double *qdot, const double *qddot,
                           rf_error *err) {
  rf_reduced_motion *m = s->motion;
  const int32_t r = s->model->r;
  rf_reduced_motion_start(m, q, qdot, qddot);
  if (!qddot) {
    // M a = load - (alpha M + beta K + D) v - R
    rf_reduced_motion_balance_rt(m);
    memcpy(m->xddot, m->force, (size_t)r * sizeof(double));
    memcpy(m->system, m->mass, (size_t)r * (size_t)m->ld * sizeof(double));
    if (!rf_dense_lu_solve_rt(r, m->system, m->ld, m->xddot))
      return rf_fail(err, RF_ERR_SINGULAR, "reduced mass matrix is singular");
    for (int32_t i = 0; i < r; ++i) m->xddot[i] -= s->set.damping_mass * m->xdot[i];
  }
  const rf_status st = rf_reduced_motion_keep(m, err);
  if (st < 0) return st;
  s->time_s = 0.0;
  s->displaced_m = 0.0;
  s->report = (rf_newmark_report){0};
  return RF_OK;
}

rf_status rf_newmark_take(rf_newmark *s, const rf_newmark *from, rf_error *err) {
  if (s->model != from->model)
    return rf_fail(err, RF_ERR_ARG, "the two simulations are of different models");
  const rf_status st = rf_newmark_reset(s, from->q, from->qdot, from->qddot, err);
  if (st < 0) return st;
  s->time_s = from->time_s;
  s->report = from->report;
  return RF_OK;
}
