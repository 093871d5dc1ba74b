// Explicit central differences, the Newmark scheme with beta = 0 and gamma = 1/2 (B07 2.9.1): no
// matrix is factored in a step.
//
//   x' = x + h v + h^2/2 a,   w = v + h/2 a                         (velocity in the middle)
//   M a' = f - R(x') - alpha M v' - (beta K(x') + D(x')) w,   v' = w + h/2 a'
//
// Mass damping is taken at the end of the step, which costs nothing; stiffness and strain-rate
// damping at its middle, for a matrix would have to be factored otherwise.  Undamped and with mass
// damping alone the scheme is of second order.  The stable step: spectrum.h.
//
// With damping inside, D = alpha M + beta K(0) + ... at rest, all of it is taken at the end,
//   (M + h/2 D) a' = f - R(x') - D w,
// which is of second order and stable for h omega <= 2 for any D (Z00, chapter 4).  Each step may
// have a length of its own, as the scheme is velocity Verlet.
#include "dynamics/motion.h"

// xddot := acceleration of the end of the step, for the residual without damping inside.
static rf_status damp_inside(rf_motion *m) {
  rf_system *s = m->system;
  const rf_status st = s->operations->damp(s, m->xdot, m->product);
  if (st < 0) return st;
  for (int64_t i = 0; i < m->n; ++i) m->residual[i] -= m->product[i];
  return s->operations->damped_solve(s, m->set.dt_s, m->residual, m->xddot);
}

static rf_status compute(rf_motion *m) {
  rf_system *s = m->system;
  const double h = m->set.dt_s, alpha = s->damping_mass;
  const double *began = m->collide ? rf_collide_begin_rt(m->collide, h, m->qddot) : m->qddot;
  m->displaced_m = 0.0;
  for (int64_t i = 0; i < m->n; ++i) {
    m->xdot[i] = m->qdot[i] + 0.5 * h * began[i];
    m->x[i] = m->q[i] + h * m->xdot[i];
  }
  // evaluations of constrained nodes that follow need no copy
  rf_constraints_fill_rt(s->constraints, m->x);
  rf_constraints_fill_rt(s->constraints, m->xdot);
  rf_status st = s->operations->evaluate(s, m->x, false, NULL, m->force);
  if (st >= 0)
    st = s->operations->balance(s, m->x, m->xdot, NULL, m->force, m->applied, m->residual);
  for (int64_t i = 0; i < m->n; ++i) m->residual[i] = 0.0 - m->residual[i];  // no negative zeros
  if (st >= 0)
    st = s->inside ? damp_inside(m) : s->operations->mass_solve(s, m->residual, m->xddot);
  if (st < 0) return st;
  for (int64_t i = 0; i < m->n; ++i)
    m->xddot[i] = (m->xddot[i] - alpha * m->xdot[i]) / (1.0 + 0.5 * h * alpha);
  if (m->collide) {
    const rf_collide_motion moves = {
        .h = h, .v = m->qdot, .a = began, .x = m->x, .w = m->xdot, .after = m->xddot};
    st = rf_collide_touch_rt(m->collide, s, &moves);
    if (st < 0) return st;
  }
  for (int64_t i = 0; i < m->n; ++i) m->xdot[i] += 0.5 * h * m->xddot[i];
  st = rf_motion_keep_rt(m);
  if (m->collide && st >= 0) rf_collide_keep_rt(m->collide, h);
  return st;
}

static rf_status step_rt(rf_motion *m) {
  const rf_status st = compute(m);
  if (st < 0) rf_motion_clean_rt(m);
  return st;
}

const rf_scheme rf_scheme_central = {
    .name = "central",
    .mass_only = true,
    .varies = true,
    .step_rt = step_rt,
    .remedy =
        "try a smaller dt: the stable step shrinks where the solid stiffens (see stable_step)"};
