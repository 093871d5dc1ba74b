// One step of reduced central differences; see central.h.
#include <math.h>
#include <string.h>

#include "integrator/central.h"
#include "integrator/reduced_motion.h"
#include "linalg/dense_rt.h"

static rf_status one_step(rf_central *s) {
  rf_reduced_motion *m = s->motion;
  const int32_t r = s->model->r;
  const double h = s->set.dt_s, alpha = s->set.damping_mass;
  const size_t bytes = (size_t)r * sizeof(double);

  for (int32_t i = 0; i < r; ++i) {
    m->xdot[i] = s->qdot[i] + 0.5 * h * s->qddot[i];
    m->x[i] = s->q[i] + h * m->xdot[i];
  }
  rf_reduced_motion_balance_rt(m);
  rf_dense_cholesky_solve_rt(s->model->polynomial->simd, r, m->mass, m->ld, m->force, m->xddot);

  double size = 0.0;
  for (int32_t i = 0; i < r; ++i) {
    m->xddot[i] = (m->xddot[i] - alpha * m->xdot[i]) / (1.0 + 0.5 * h * alpha);
    m->xdot[i] += 0.5 * h * m->xddot[i];
    size += m->x[i] * m->x[i] + m->xdot[i] * m->xdot[i] + m->xddot[i] * m->xddot[i];
  }
  // a sum of squares is finite only if every term is
  if (!isfinite(size)) return RF_ERR_DIVERGED;
  memcpy(s->q, m->x, bytes);
  memcpy(s->qdot, m->xdot, bytes);
  memcpy(s->qddot, m->xddot, bytes);
  ++s->steps;
  s->time_s = (double)s->steps * h;  // a sum would drift
  return RF_OK;
}

rf_status rf_central_step_rt(rf_central *s, const double *force, int64_t n) {
  rf_reduced_motion_apply_rt(s->motion, force);
  for (int64_t i = 0; i < n; ++i) {
    const rf_status st = one_step(s);
    if (st < 0) return st;
  }
  return RF_OK;
}
