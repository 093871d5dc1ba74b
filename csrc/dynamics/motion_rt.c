#include "dynamics/motion.h"

#include <math.h>
#include <string.h>

#include "linalg/vector.h"

void rf_motion_apply_rt(rf_motion *m, const double *force) {
  for (int64_t i = 0; i < m->n; ++i) m->applied[i] = force ? m->load[i] + force[i] : m->load[i];
  rf_system_keep_free_rt(m->system, m->applied);
}

static void note(rf_motion_report *report, const rf_motion_tally *step) {
  if (!step->converged) ++report->unconverged;
  if (report->residual > report->worst) report->worst = report->residual;
  if (report->shortened > report->shortened_before) ++report->shortened_steps;
  report->shortened_before = report->shortened;
  if (step->solves > report->most_solves) report->most_solves = step->solves;
  report->last_solves = step->solves;
  report->n_history = step->evaluated < RF_NEWTON_HISTORY ? step->evaluated : RF_NEWTON_HISTORY;
  for (int32_t i = 0; i < report->n_history; ++i) report->history[i] = step->history[i];
}

// Keeps the changes of the step, for a scheme that asks for them.
static void remember(rf_motion *m) {
  for (int64_t i = 0; i < m->n; ++i) {
    m->step[i] = m->x[i] - m->q[i];
    m->step_rate[i] = m->xdot[i] - m->qdot[i];
  }
  m->follows = true;
}

rf_status rf_motion_keep_rt(rf_motion *m) {
  const rf_system *s = m->system;
  const size_t bytes = (size_t)m->n * sizeof *m->q;
  // constrained nodes drift by rounding, and contact moves their masters alone
  rf_constraints_fill_rt(s->constraints, m->x);
  rf_constraints_fill_rt(s->constraints, m->xdot);
  rf_constraints_fill_rt(s->constraints, m->xddot);
  // a sum of squares is finite only if every term is
  if (!isfinite(rf_dot_padded(s->ld, m->x, m->x) + rf_dot_padded(s->ld, m->xdot, m->xdot) +
                rf_dot_padded(s->ld, m->xddot, m->xddot)))
    return RF_ERR_DIVERGED;
  const double displaced = m->bounded ? s->operations->farthest(s, m->x) : 0.0;
  if (rf_motion_far_rt(m, displaced)) {
    m->displaced_m = displaced;
    return RF_ERR_DIVERGED;
  }
  if (m->bounded) m->farthest_m = displaced;
  const double strain = s->operations->strain ? s->operations->strain(m->system, m->x) : 0.0;
  if (strain > m->report.strain) m->report.strain = strain;
  if (m->set.scheme->remembers) remember(m);
  memcpy(m->q, m->x, bytes);
  memcpy(m->qdot, m->xdot, bytes);
  memcpy(m->qddot, m->xddot, bytes);
  m->prepared = rf_scheme_iterates(m->set.scheme);
  if (m->prepared) {
    m->report.residual = m->newton.residual;
    note(&m->report, &m->tally);
  }
  ++m->report.steps;
  m->time_s = rf_motion_time_rt(m);
  return RF_OK;
}

void rf_motion_clean_rt(rf_motion *m) {
  double *const vectors[] = {m->x,        m->xdot,      m->xddot,   m->force,
                             m->residual, m->increment, m->product, m->change};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; ++k)
    for (int64_t i = m->n; i < m->system->ld; ++i) vectors[k][i] = 0.0;
  m->prepared = false;
}

rf_status rf_motion_step_rt(rf_motion *m, const double *force, int64_t n) {
  rf_status (*const own)(rf_motion *) = m->set.scheme->step_rt;
  rf_motion_apply_rt(m, force);
  for (int64_t i = 0; i < n; ++i) {
    const rf_status st = own ? own(m) : rf_motion_step_stage_rt(m);
    if (st < 0) return st;
  }
  return RF_OK;
}

rf_status rf_motion_step_within_rt(rf_motion *m, const double *force, int64_t n) {
  if (n < 1) return RF_OK;
  const rf_status st = rf_motion_step_rt(m, force, n - 1);
  if (st < 0) return st;
  m->bounded = true;
  const rf_status last = rf_motion_step_rt(m, force, 1);
  m->bounded = false;
  return last;
}

void rf_motion_follow_rt(rf_motion *m, const rf_motion *other) {
  const size_t bytes = (size_t)m->n * sizeof *m->q;
  memcpy(m->q, other->q, bytes);
  memcpy(m->qdot, other->qdot, bytes);
  memcpy(m->qddot, other->qddot, bytes);
  m->follows = m->prepared = false;
}
