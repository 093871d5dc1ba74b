// Steps of schemes with one implicit stage, whole or in parts.
#include <math.h>

#include "dynamics/motion.h"
#include "dynamics/newton.h"
#include "linalg/vector.h"

rf_status rf_motion_finish_stage_rt(rf_motion *m, bool linearized, double size) {
  rf_status st = rf_newton_solve_rt(m, linearized, size);
  m->added = NULL;
  if (st >= 0) st = rf_motion_keep_rt(m);
  if (st < 0) rf_motion_clean_rt(m);
  return st;
}

rf_status rf_motion_step_added_rt(rf_motion *m, const double *force, const double *stiffness) {
  rf_motion_apply_rt(m, force);
  m->scheme->operations->begin(m, stiffness);
  return rf_motion_finish_stage_rt(m, false, 0.0);
}

void rf_motion_prepare_rt(rf_motion *m) {
  rf_system *s = m->system;
  if (m->prepared) return;
  m->scheme->operations->begin(m, NULL);
  m->prepared = s->operations->evaluate(s, m->x, true, NULL, m->force) >= 0;
}

static rf_status linearize(rf_motion *m, double *increment) {
  double size;
  rf_status st = rf_newton_look_rt(m, &size);
  if (st >= 0) st = isfinite(size) ? rf_newton_factorize_rt(m) : RF_ERR_DIVERGED;
  if (st < 0) return st;
  for (int64_t i = 0; i < m->n; ++i) increment[i] = -m->residual[i];
  return rf_motion_solve_rt(m, increment, increment);
}

rf_status rf_motion_linearize_rt(rf_motion *m, const double *force, const double *stiffness,
                                 double *increment) {
  rf_motion_apply_rt(m, force);
  m->scheme->operations->begin(m, stiffness);
  const rf_status st = linearize(m, increment);
  if (st < 0) rf_motion_clean_rt(m);
  return st;
}

rf_status rf_motion_solve_rt(rf_motion *m, const double *force, double *response) {
  return m->system->operations->solve(m->system, force, response);
}

rf_status rf_motion_finish_rt(rf_motion *m, const double *more) {
  for (int64_t i = 0; more && i < m->n; ++i) {
    m->applied[i] += more[i];
    m->residual[i] -= more[i];
  }
  return rf_motion_finish_stage_rt(m, true, rf_norm_padded(m->system->ld, m->residual));
}
