#include "dynamics/newmark.h"

#include <string.h>

static void rates_rt(rf_motion *m) {
  const rf_newmark_coefficients c = *((const rf_newmark_plan *)m->plan)->now;
  for (int64_t i = 0; i < m->n; ++i) {
    const double dq = m->x[i] - m->q[i];
    m->xddot[i] = c.a1 * dq - c.a2 * m->qdot[i] - c.a3 * m->qddot[i];
    m->xdot[i] = c.a4 * dq + c.a5 * m->qdot[i] + c.a6 * m->qddot[i];
  }
}

// `added`: A, nullable; positive semidefinite, so that it is zero if its diagonal is
static void begin_rt(rf_motion *m, const double *added) {
  rf_newmark_plan *p = m->plan;
  m->added = added;
  m->displaced_m = 0.0;
  p->now = &p->plain;
  for (int64_t i = 0; added && i < m->n; ++i)
    if (added[i * (m->system->ld + 1)] != 0.0) p->now = &p->added;
  m->per_x[0] = p->now->a4;
  m->per_x[1] = p->now->a1;
  memcpy(m->x, m->q, (size_t)m->n * sizeof *m->q);
}

static rf_status step_rt(rf_motion *m) {
  begin_rt(m, NULL);
  return rf_motion_finish_stage_rt(m, false, 0.0);
}

const rf_scheme_operations rf_newmark_rt = {.rates = rates_rt, .begin = begin_rt, .step = step_rt};
