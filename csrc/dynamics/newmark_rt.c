#include "dynamics/newmark.h"

#include <math.h>
#include <string.h>

#include "dynamics/newton.h"
#include "linalg/vector.h"

static void rates_rt(rf_motion *m) {
  const rf_newmark_coefficients c = *((const rf_newmark_plan *)m->plan)->now;
  for (int64_t i = 0; i < m->n; ++i) {
    const double dq = m->x[i] - m->q[i];
    m->xddot[i] = c.a1 * dq - c.a2 * m->qdot[i] - c.a3 * m->qddot[i];
    m->xdot[i] = c.a4 * dq + c.a5 * m->qdot[i] + c.a6 * m->qddot[i];
  }
}

// `added`: A, nullable; positive semidefinite, so that it is zero if its diagonal is
static void begin(rf_motion *m, const double *added) {
  rf_newmark_plan *p = m->plan;
  m->added = added;
  m->displaced_m = 0.0;
  p->now = &p->plain;
  for (int64_t i = 0; added && i < m->n; ++i)
    if (added[i * (m->system->ld + 1)] != 0.0) p->now = &p->added;
  m->per_way[0] = p->now->a4;
  m->per_way[1] = p->now->a1;
  memcpy(m->x, m->q, (size_t)m->n * sizeof *m->q);
}

static rf_status end(rf_motion *m, bool linearized, double size) {
  rf_status st = rf_newton_solve_rt(m, linearized, size);
  m->added = NULL;
  if (st >= 0) st = rf_motion_keep_rt(m);
  if (st < 0) rf_motion_clean_rt(m);
  return st;
}

static rf_status step_rt(rf_motion *m) {
  begin(m, NULL);
  return end(m, false, 0.0);
}

const rf_scheme_operations rf_newmark_rt = {.rates = rates_rt, .step = step_rt};

rf_status rf_motion_step_added_rt(rf_motion *m, const double *force, const double *stiffness) {
  rf_motion_apply_rt(m, force);
  begin(m, stiffness);
  return end(m, false, 0.0);
}

void rf_motion_prepare_rt(rf_motion *m) {
  rf_system *s = m->system;
  if (m->prepared) return;
  begin(m, NULL);
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
  begin(m, stiffness);
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
  return end(m, true, rf_norm_padded(m->system->ld, m->residual));
}
