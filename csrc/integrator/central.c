#include "integrator/central.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "integrator/central_work.h"
#include "integrator/integrator.h"
#include "linalg/dense_rt.h"

rf_status rf_central_check(const rf_central_settings *set, rf_error *err) {
  if (!(isfinite(set->dt_s) && set->dt_s > 0.0))
    return rf_fail(err, RF_ERR_ARG, "dt must be finite and positive, got %g", set->dt_s);
  if (!(isfinite(set->damping_mass) && set->damping_mass >= 0.0 && isfinite(set->damping_stiff) &&
        set->damping_stiff >= 0.0))
    return rf_fail(err, RF_ERR_ARG, "damping must be two finite numbers >= 0, got (%g, %g)",
                   set->damping_mass, set->damping_stiff);
  return RF_OK;
}

rf_status rf_central_diverged(double time_s, rf_error *err) {
  return rf_fail(err, RF_ERR_DIVERGED,
                 "the simulation diverged at t = %g s: displacement or velocity is no longer "
                 "finite; the state before this step is kept; try a smaller dt: the stable step "
                 "shrinks where the solid stiffens (see stable_step)",
                 time_s);
}

static void layout(rf_central_work *w, int32_t r, bool strain_rate, rf_arena *a) {
  w->ld = rf_dense_ld(r);
  const size_t ld = (size_t)w->ld, square = ld * ld;
  double **const matrices[] = {&w->factor, &w->stiffness};
  double **const vectors[] = {&w->q, &w->qdot, &w->qddot, &w->applied, &w->force, &w->product};
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i)
    *matrices[i] = rf_arena_take(a, square, sizeof(double));
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i)
    *vectors[i] = rf_arena_take(a, ld, sizeof(double));
  w->polynomial = rf_arena_take(a, rf_polynomial_work_bytes(r), 1);
  w->damping = rf_arena_take(a, strain_rate ? square : 0, sizeof(double));
  w->strain_rate = rf_arena_take(a, strain_rate ? rf_damping_work_bytes(r) : 0, 1);
}

rf_status rf_central_create(const rf_reduced *model, const rf_central_settings *set,
                            rf_central **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_central *s = NULL;
  void *memory = NULL;
  rf_arena count = {0};
  rf_central_work sizes;
  const int32_t r = model->r;
  *out = NULL;
  layout(&sizes, r, set->strain_rate != NULL, &count);

  RF_TRY(rf_central_check(set, err));
  RF_TRY(rf_damping_fits(set->strain_rate, model, err));
  RF_ALLOC(s, 1);
  s->set = *set;
  s->model = model;
  RF_ALLOC(s->q, r);
  RF_ALLOC(s->qdot, r);
  RF_ALLOC(s->qddot, r);
  // the work struct first, its arrays behind it in the same block
  const size_t head = (sizeof(rf_central_work) + 63) / 64 * 64;
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
    memcpy(s->work->factor + i * s->work->ld, model->mass + i * r, (size_t)r * sizeof(double));
  if (!rf_dense_cholesky_rt(model->polynomial->simd, r, s->work->factor, s->work->ld)) {
    st = rf_fail(err, RF_ERR_SINGULAR, "reduced mass matrix is not positive definite");
    goto done;
  }
  RF_TRY(rf_central_reset(s, NULL, NULL, NULL, err));
  *out = s;
  s = NULL;
done:
  rf_central_free(s);
  return st;
}

void rf_central_free(rf_central *s) {
  if (!s) return;
  rf_free(s->q);
  rf_free(s->qdot);
  rf_free(s->qddot);
  rf_free(s->work);
  rf_free(s);
}

rf_status rf_central_reset(rf_central *s, const double *q, const double *qdot, const double *qddot,
                           rf_error *err) {
  const rf_polynomial *p = s->model->polynomial;
  const int32_t r = s->model->r;
  rf_central_work *w = s->work;
  const size_t bytes = (size_t)r * sizeof(double);
  memset(w->q, 0, bytes);
  memset(w->qdot, 0, bytes);
  if (q) memcpy(w->q, q, bytes);
  if (qdot) memcpy(w->qdot, qdot, bytes);
  if (qddot) {
    memcpy(w->qddot, qddot, bytes);
  } else {
    // M a = -(alpha M + beta K + D) v - R
    rf_polynomial_evaluate_rt(p, w->q, w->polynomial, NULL, w->force, w->stiffness, w->ld);
    rf_dense_multiply_rt(p->simd, r, w->stiffness, w->ld, w->qdot, w->product);
    for (int32_t i = 0; i < r; ++i)
      w->force[i] = -w->force[i] - s->set.damping_stiff * w->product[i];
    if (s->set.strain_rate) {
      rf_damping_matrix_rt(s->set.strain_rate, w->q, w->strain_rate, w->damping, w->ld);
      rf_dense_multiply_rt(p->simd, r, w->damping, w->ld, w->qdot, w->product);
      for (int32_t i = 0; i < r; ++i) w->force[i] -= w->product[i];
    }
    rf_dense_cholesky_solve_rt(p->simd, r, w->factor, w->ld, w->force, w->qddot);
    for (int32_t i = 0; i < r; ++i) w->qddot[i] -= s->set.damping_mass * w->qdot[i];
  }
  for (int32_t i = 0; i < r; ++i)
    if (!(isfinite(w->q[i]) && isfinite(w->qdot[i]) && isfinite(w->qddot[i])))
      return rf_fail(err, RF_ERR_DIVERGED,
                     "the initial state or its acceleration is not finite; q or qdot is too large");
  memcpy(s->q, w->q, bytes);
  memcpy(s->qdot, w->qdot, bytes);
  memcpy(s->qddot, w->qddot, bytes);
  s->time_s = 0.0;
  s->steps = 0;
  return RF_OK;
}
