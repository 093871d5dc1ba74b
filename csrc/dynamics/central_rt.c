// Explicit central differences, the Newmark scheme with beta = 0 and gamma = 1/2 (B07 2.9.1): no
// matrix is factored in a step.
//
//   x' = x + h v + h^2/2 a,   w = v + h/2 a                         (velocity in the middle)
//   M a' = f - R(x') - alpha M v' - (beta K(x') + D(x')) w,   v' = w + h/2 a'
//
// Mass damping is taken at the end of the step, which costs nothing; stiffness and strain-rate
// damping at its middle, for a matrix would have to be factored otherwise.  Undamped and with mass
// damping alone the scheme is of second order.  The stable step: spectrum.h.
#include "dynamics/motion.h"

static rf_status compute(rf_motion *m) {
  rf_system *s = m->system;
  const double h = m->set.dt_s, alpha = s->damping_mass;
  m->displaced_m = 0.0;
  for (int64_t i = 0; i < m->n; ++i) {
    m->xdot[i] = m->qdot[i] + 0.5 * h * m->qddot[i];
    m->x[i] = m->q[i] + h * m->xdot[i];
  }
  rf_status st = s->operations->evaluate(s, m->x, false, NULL, m->force);
  if (st >= 0)
    st = s->operations->balance(s, m->x, m->xdot, NULL, m->force, m->applied, m->residual);
  for (int64_t i = 0; i < m->n; ++i) m->residual[i] = 0.0 - m->residual[i];  // no negative zeros
  if (st >= 0) st = s->operations->mass_solve(s, m->residual, m->xddot);
  if (st < 0) return st;
  for (int64_t i = 0; i < m->n; ++i) {
    m->xddot[i] = (m->xddot[i] - alpha * m->xdot[i]) / (1.0 + 0.5 * h * alpha);
    m->xdot[i] += 0.5 * h * m->xddot[i];
  }
  return rf_motion_keep_rt(m);
}

static rf_status step_rt(rf_motion *m) {
  const rf_status st = compute(m);
  if (st < 0) rf_motion_clean_rt(m);
  return st;
}

const rf_scheme rf_scheme_central = {
    .name = "central",
    .mass_only = true,
    .step_rt = step_rt,
    .remedy =
        "try a smaller dt: the stable step shrinks where the solid stiffens (see stable_step)"};
