#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "integrator/integrator.h"
#include "integrator/newmark_work.h"
#include "linalg/dense_rt.h"

rf_status rf_newmark_check(const rf_newmark_settings *set, rf_newmark_coefficients *out,
                           rf_error *err) {
  if (!(isfinite(set->dt_s) && set->dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be finite and positive, got %g", set->dt_s);
  if (!(isfinite(set->damping_mass) && set->damping_mass >= 0.0 && isfinite(set->damping_stiff) &&
        set->damping_stiff >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "damping must be two finite numbers >= 0, got (%g, %g)",
                   set->damping_mass, set->damping_stiff);
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
  const double h = set->dt_s, b = set->beta, g = set->gamma;
  *out = (rf_newmark_coefficients){.a1 = 1.0 / (b * h * h),
                                   .a2 = 1.0 / (b * h),
                                   .a3 = (1.0 - 2.0 * b) / (2.0 * b),
                                   .a4 = g / (b * h),
                                   .a5 = 1.0 - g / b,
                                   .a6 = (1.0 - g / (2.0 * b)) * h};
  return RF_OK;
}

rf_status rf_newmark_diverged(double time_s, rf_error *err) {
  return rf_fail(err, RF_ERR_DIVERGED,
                 "the simulation diverged at t = %g s: displacement, velocity or tangent is no "
                 "longer finite or solvable; the state before this step is kept; try a smaller "
                 "dt, more damping or newton_max > 1",
                 time_s);
}

rf_status rf_damping_fits(const rf_damping *damping, const rf_reduced *model, rf_error *err) {
  if (!damping || damping->r == model->r) return RF_OK;
  return rf_fail(err, RF_ERR_ARG,
                 "strain_rate is the damping of %d reduced coordinates, but the model has %d",
                 damping->r, model->r);
}

static void layout(rf_newmark_work *w, int32_t r, bool strain_rate, rf_arena *a) {
  w->ld = rf_dense_ld(r);
  const size_t ld = (size_t)w->ld, square = ld * ld;
  w->mass = rf_arena_take(a, square, sizeof(double));
  w->stiffness = rf_arena_take(a, square, sizeof(double));
  w->system = rf_arena_take(a, square, sizeof(double));
  w->q = rf_arena_take(a, ld, sizeof(double));
  w->qdot = rf_arena_take(a, ld, sizeof(double));
  w->qddot = rf_arena_take(a, ld, sizeof(double));
  w->applied = rf_arena_take(a, ld, sizeof(double));
  w->force = rf_arena_take(a, ld, sizeof(double));
  w->residual = rf_arena_take(a, ld, sizeof(double));
  w->product = rf_arena_take(a, ld, sizeof(double));
  w->polynomial = rf_arena_take(a, rf_polynomial_work_bytes(r), 1);
  w->damping = rf_arena_take(a, strain_rate ? square : 0, sizeof(double));
  w->strain_rate = rf_arena_take(a, strain_rate ? rf_damping_work_bytes(r) : 0, 1);
}

rf_status rf_newmark_create(const rf_reduced *model, const rf_newmark_settings *set,
                            rf_newmark **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_newmark *s = NULL;
  void *memory = NULL;
  rf_arena count = {0};
  rf_newmark_work sizes;
  const int32_t r = model->r;
  *out = NULL;
  layout(&sizes, r, set->strain_rate != NULL, &count);

  RF_ALLOC(s, 1);
  s->set = *set;
  s->model = model;
  RF_TRY(rf_newmark_check(set, &s->coef, err));
  RF_TRY(rf_damping_fits(set->strain_rate, model, err));
  RF_ALLOC(s->q, r);
  RF_ALLOC(s->qdot, r);
  RF_ALLOC(s->qddot, r);
  // the work struct first, its arrays behind it in the same block
  const size_t head = (sizeof(rf_newmark_work) + 63) / 64 * 64;
  memory = rf_alloc(head + count.used, 1);
  if (!memory) {
    st = rf_fail(err, RF_ERR_MEMORY, "out of memory: a simulation of r = %d needs %zu bytes", r,
                 head + count.used);
    goto done;
  }
  s->work = memory;
  rf_arena carve = {.base = (char *)memory + head};
  layout(s->work, r, set->strain_rate != NULL, &carve);
  for (int32_t i = 0; i < r; ++i)
    memcpy(s->work->mass + i * s->work->ld, model->mass + i * r, (size_t)r * sizeof(double));
  RF_TRY(rf_newmark_reset(s, NULL, NULL, NULL, err));
  *out = s;
  s = NULL;
done:
  rf_newmark_free(s);
  return st;
}

void rf_newmark_free(rf_newmark *s) {
  if (!s) return;
  rf_free(s->q);
  rf_free(s->qdot);
  rf_free(s->qddot);
  rf_free(s->work);
  rf_free(s);
}

rf_status rf_newmark_reset(rf_newmark *s, const double *q, const double *qdot, const double *qddot,
                           rf_error *err) {
  const int32_t r = s->model->r;
  rf_newmark_work *w = s->work;
  const size_t bytes = (size_t)r * sizeof(double);
  double *x = w->q, *v = w->qdot, *a = w->residual;
  memset(x, 0, bytes);
  memset(v, 0, bytes);
  if (q) memcpy(x, q, bytes);
  if (qdot) memcpy(v, qdot, bytes);

  if (qddot) {
    memcpy(a, qddot, bytes);
  } else {
    // M a = -(alpha M + beta K + D) v - R
    rf_polynomial_evaluate_rt(s->model->polynomial, x, w->polynomial, NULL, w->force, w->stiffness,
                              w->ld);
    rf_dense_multiply_rt(s->model->polynomial->simd, r, w->stiffness, w->ld, v, w->product);
    for (int32_t i = 0; i < r; ++i) a[i] = -w->force[i] - s->set.damping_stiff * w->product[i];
    if (s->set.strain_rate) {
      rf_damping_matrix_rt(s->set.strain_rate, x, w->strain_rate, w->damping, w->ld);
      rf_dense_multiply_rt(s->model->polynomial->simd, r, w->damping, w->ld, v, w->product);
      for (int32_t i = 0; i < r; ++i) a[i] -= w->product[i];
    }
    memcpy(w->system, w->mass, (size_t)r * (size_t)w->ld * sizeof(double));
    if (!rf_dense_lu_solve_rt(r, w->system, w->ld, a))
      return rf_fail(err, RF_ERR_SINGULAR, "reduced mass matrix is singular");
    for (int32_t i = 0; i < r; ++i) a[i] -= s->set.damping_mass * v[i];
  }
  for (int32_t i = 0; i < r; ++i)
    if (!(isfinite(x[i]) && isfinite(v[i]) && isfinite(a[i])))
      return rf_fail(err, RF_ERR_DIVERGED,
                     "the initial state or its acceleration is not finite; q or qdot is too large");

  memcpy(s->q, x, bytes);
  memcpy(s->qdot, v, bytes);
  memcpy(s->qddot, a, bytes);
  s->time_s = 0.0;
  s->report = (rf_newmark_report){0};
  return RF_OK;
}
