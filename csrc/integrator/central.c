#include "integrator/central.h"

#include "base/alloc.h"
#include "integrator/reduced_motion.h"
#include "linalg/dense_rt.h"

rf_status rf_central_diverged(double time_s, rf_error *err) {
  return rf_fail(err, RF_ERR_DIVERGED,
                 "the simulation diverged at t = %g s: displacement or velocity is no longer "
                 "finite; the state before this step is kept; try a smaller dt: the stable step "
                 "shrinks where the solid stiffens (see stable_step)",
                 time_s);
}

rf_status rf_central_create(const rf_reduced *model, const rf_central_settings *set,
                            rf_central **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_central *s = NULL;
  *out = NULL;
  RF_TRY(rf_motion_check(set->dt_s, set->damping_mass, set->damping_stiff, err));
  RF_ALLOC(s, 1);
  s->set = *set;
  s->model = model;
  RF_TRY(rf_reduced_motion_create(model, false, set->damping_stiff, set->strain_rate, set->load,
                                  &s->motion, err));
  s->set.load = s->motion->load;
  s->q = s->motion->q;
  s->qdot = s->motion->qdot;
  s->qddot = s->motion->qddot;
  if (!rf_dense_cholesky_rt(model->polynomial->simd, model->r, s->motion->mass, s->motion->ld)) {
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
  rf_free(s->motion);
  rf_free(s);
}

rf_status rf_central_reset(rf_central *s, const double *q, const double *qdot, const double *qddot,
                           rf_error *err) {
  rf_reduced_motion *m = s->motion;
  const int32_t r = s->model->r;
  rf_reduced_motion_start(m, q, qdot, qddot);
  if (!qddot) {
    // M a = load - (alpha M + beta K + D) v - R
    rf_reduced_motion_balance_rt(m);
    rf_dense_cholesky_solve_rt(s->model->polynomial->simd, r, m->mass, m->ld, m->force, m->xddot);
    for (int32_t i = 0; i < r; ++i) m->xddot[i] -= s->set.damping_mass * m->xdot[i];
  }
  const rf_status st = rf_reduced_motion_keep(m, err);
  if (st < 0) return st;
  s->time_s = 0.0;
  s->steps = 0;
  return RF_OK;
}
