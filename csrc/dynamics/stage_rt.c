// Steps of schemes with implicit stages, whole or, with one stage, in parts.
#include <float.h>
#include <math.h>
#include <string.h>

#include "dynamics/motion.h"
#include "dynamics/newton.h"
#include "linalg/dense_rt.h"
#include "linalg/vector.h"

static const double GROWTH = 4.0;       // of the factor of M, where the matrix is indefinite
static const double SHIFTS = 0x1p62;    // growth of it that is never reached
static const double ROUNDING = 1e-12;   // of forces, relative
enum { BISECTIONS = 40 };               // of the part of an increment
static const double NOISE = 2e-14;      // of energies, relative
enum { SEARCHES = 24 };                 // shortenings of an increment
static const double NEAR = 1e-3;        // relative residual below which a search may go by it
static const double ROUGH = 1e-3;       // tolerance of a stage that is solved again
enum { EXAMINED = 8 };                  // steps from one that is examined to the next
static const double NEGLIGIBLE = 0.05;  // relative residual below which one iteration suffices
enum { RESTARTS = 4 };                  // of a stage with friction of its end

static double norm(const rf_motion *m, const double *x) { return rf_norm_padded(m->system->ld, x); }

static double slope_of(const rf_motion *m) {
  return rf_dot_padded(m->system->ld, m->increment, m->residual);
}

static double force_scale(const rf_motion *m) {
  return fmax(norm(m, m->force), norm(m, m->applied));
}

// True if increments are shortened by the energy of the step, which is then evaluated too.
static bool searches(const rf_motion *m) {
  return m->barrier || (m->set.line_search && !m->system->cubic_force);
}

// Evaluates R, the tangent if asked and, where the guard needs it, the energy at m->x.
static rf_status evaluate(rf_motion *m, bool tangent) {
  rf_system *s = m->system;
  m->has_tangent = tangent;
  return s->operations->evaluate(s, m->x, tangent, searches(m) ? &m->energy : NULL, m->force);
}

// ---- the beginning of a stage

// Sum of the terms of a rate but for that of x.
static void put_known(const rf_motion *m, const double factor[RF_STAGE_TERMS], double *out) {
  const double *const term[RF_STAGE_TERMS] = {
      [RF_STAGE_VELOCITY] = m->qdot, [RF_STAGE_ACCELERATION] = m->qddot,
      [RF_STAGE_STEP] = m->step,     [RF_STAGE_STEP_RATE] = m->step_rate,
      [RF_STAGE_PART] = m->part,     [RF_STAGE_PART_RATE] = m->part_rate};
  memset(out, 0, (size_t)m->n * sizeof *out);
  for (int t = RF_STAGE_CHANGE + 1; t < RF_STAGE_TERMS; ++t)
    for (int64_t i = 0; factor[t] != 0.0 && i < m->n; ++i) out[i] += factor[t] * term[t][i];
}

// Returns M w + C v + R - load at x, of a system that was evaluated there, in m->residual.
static rf_status balance(rf_motion *m, const double *x, const double *v, const double *load) {
  rf_system *s = m->system;
  rf_system_keep_free_rt(s, m->force);
  return s->operations->balance(s, x, v, m->product, m->force, load, m->residual);
}

// Returns minus the force F at m->from with the velocity v, in m->residual.
static rf_status balance_start(rf_motion *m, const double *v) {
  const rf_status st = m->prepared ? RF_OK : evaluate(m, true);
  m->prepared = true;
  for (int64_t i = 0; i < m->n; ++i) m->product[i] = m->system->damping_mass * v[i];
  return st < 0 ? st : balance(m, m->from, v, m->applied);
}

// Force of a stage, with what a first one carries over from the state, and its exact modes.  The
// velocity where a second stage begins is that of the end of the first.
static rf_status put_force(rf_motion *m, bool first) {
  const double carried = m->stage->carried, *v = first ? m->qdot : m->xdot;
  m->against = m->applied;
  if (carried == 0.0 && !m->subspace) return RF_OK;
  const rf_status st = balance_start(m, v);
  if (carried != 0.0) m->against = m->known_force;
  for (int64_t i = 0; carried != 0.0 && i < m->n; ++i)
    m->known_force[i] = m->applied[i] - carried * m->residual[i];
  return st < 0 || !m->subspace ? st : m->subspace->operations->begin(m, v, first);
}

// Begins stage k, whose x is there.
static rf_status begin_stage(rf_motion *m, rf_step_kind kind, int32_t k) {
  m->stage = &m->stages[kind][k];
  m->from = m->q;
  m->linearized = false;
  if (k > 0) {
    m->from = m->middle;
    for (int64_t i = 0; i < m->n; ++i) {
      m->middle[i] = m->x[i];
      m->part[i] = m->x[i] - m->q[i];
      m->part_rate[i] = m->xdot[i] - m->qdot[i];
    }
  }
  put_known(m, m->stage->velocity, m->known_rate);
  put_known(m, m->stage->acceleration, m->known_acceleration);
  return put_force(m, k == 0);
}

// Begins a step at x = q, whose force the end of the last step has left in m->force.  `added`:
// nullable; positive semidefinite, so that it is zero if its diagonal is.
static rf_status begin(rf_motion *m, const double *added, rf_step_kind *kind) {
  bool touching = m->in_contact || m->spring;
  m->added = added;
  m->displaced_m = 0.0;
  m->tally = (rf_motion_tally){.converged = true};
  const rf_status st = m->barrier ? rf_barrier_begin_rt(m->barrier, m->q, m->qdot) : RF_OK;
  for (int64_t i = 0; added && i < m->n; ++i) touching |= added[i * (m->system->ld + 1)] != 0.0;
  memcpy(m->x, m->q, (size_t)m->n * sizeof *m->q);
  *kind = touching ? RF_STEP_TOUCHING : RF_STEP_ALONE;
  if (m->set.scheme->remembers && !m->follows) *kind = RF_STEP_FIRST;
  return st;
}

// ---- the residual

static void set_rates(rf_motion *m) {
  const double of_rate = m->stage->velocity[RF_STAGE_CHANGE];
  const double of_acceleration = m->stage->acceleration[RF_STAGE_CHANGE];
  for (int64_t i = 0; i < m->n; ++i) {
    const double dx = m->x[i] - m->from[i];
    m->xddot[i] = of_acceleration * dx + m->known_acceleration[i];
    m->xdot[i] = of_rate * dx + m->known_rate[i];
  }
}

// Derivative of the velocity by x.
static double rate_of(const rf_motion *m) { return m->stage->velocity[RF_STAGE_CHANGE]; }

// Factor of the equation of the stage, with which forces of contact have the factor 1.
static double share_of(const rf_motion *m) {
  return m->set.scheme->stages == 1 ? 1.0 / (1.0 + m->stage->carried) : 1.0;
}

// Adds the change of the force of the spring since the beginning of the step to the residual.
static void add_spring(rf_motion *m) {
  const rf_system_points *at = &m->spring->at;
  for (int a = 0; a < 3; ++a) {
    double moved = 0.0;
    for (int32_t i = 0; i < at->corners; ++i) {
      const int64_t d = 3 * (int64_t)at->node[i] + a;
      moved += at->weight[i] * (m->x[d] - m->q[d]);
    }
    for (int32_t i = 0; i < at->corners; ++i)
      m->residual[3 * (int64_t)at->node[i] + a] += m->spring->matrix[0] * at->weight[i] * moved;
  }
  rf_system_keep_free_rt(m->system, m->residual);
}

// Evaluates rates, forces and the residual at m->x; size: its norm.
static rf_status evaluate_residual(rf_motion *m, bool tangent, double *size) {
  rf_system *s = m->system;
  const double alpha = s->damping_mass, *inertia = m->stage->inertia;
  rf_status st = RF_OK;
  set_rates(m);
  if (!m->prepared) st = evaluate(m, tangent);
  m->prepared = false;
  if (st < 0) return st;
  for (int64_t i = 0; i < m->n; ++i)
    m->product[i] = inertia[0] * m->xddot[i] + inertia[1] * m->qddot[i] + alpha * m->xdot[i];
  st = balance(m, m->x, m->xdot, m->against);
  if (st < 0) return st;
  const double share = share_of(m);
  for (int64_t i = 0; share != 1.0 && i < m->n; ++i) m->residual[i] *= share;
  if (m->added) {
    for (int64_t i = 0; i < m->n; ++i) m->change[i] = m->x[i] - m->q[i];
    rf_dense_multiply_rt(s->simd, (int32_t)m->n, m->added, (int32_t)s->ld, m->change, m->product);
    for (int64_t i = 0; i < m->n; ++i) m->residual[i] += m->product[i];
  }
  if (m->spring) add_spring(m);
  if (m->subspace) st = m->subspace->operations->project(m);
  if (m->barrier) {
    rf_barrier_evaluate_rt(m->barrier, m->x, m->xdot, rate_of(m), m->residual);
    rf_system_keep_free_rt(s, m->residual);
  }
  *size = norm(m, m->residual);
  return st;
}

static double mass_factor(const rf_motion *m) {
  const rf_stage *c = m->stage;
  return share_of(m) * (c->inertia[0] * c->acceleration[RF_STAGE_CHANGE] +
                        c->velocity[RF_STAGE_CHANGE] * m->system->damping_mass);
}

// The matrix to be factored takes the blocks of contact at x; *added: of dense ones.
static rf_status join_barrier(rf_motion *m, const double **added) {
  const rf_barrier *b = m->barrier->barrier;
  const rf_status st = rf_barrier_linearize_rt(m->barrier, rate_of(m));
  *added = b->basis ? rf_barrier_reduce_rt(m->barrier, m->system->ld) : NULL;
  if (st < 0 || b->basis) return st;
  m->system->operations->add_blocks(m->system, &b->points, m->barrier->blocks,
                                    m->barrier->touch ? &m->barrier->touch->coupling : NULL);
  return RF_OK;
}

static rf_status factor_rt(void *motion, double of_mass) {
  rf_motion *m = motion;
  rf_system *s = m->system;
  const double share = share_of(m), velocity = share * m->stage->velocity[RF_STAGE_CHANGE];
  if (m->subspace) m->subspace->responses_known = false;
  const double *added = m->added;
  const rf_status st = m->barrier ? join_barrier(m, &added) : RF_OK;
  if (st < 0) return st;
  if (m->spring) s->operations->add_blocks(s, &m->spring->at, m->spring->matrix, NULL);
  return s->operations->factorize(s, of_mass, share + velocity * s->damping_stiff, velocity, added);
}

static rf_status solve(rf_motion *m, double *increment) {
  if (m->subspace) return m->subspace->operations->solve(m, increment);
  for (int64_t i = 0; i < m->n; ++i) increment[i] = -m->residual[i];
  return m->system->operations->solve(m->system, increment, increment);
}

// Returns the zero in (0, 1) of the cubic with these values at 0, 1/3, 2/3 and 1.  The first must
// be negative, the last positive.  0: it is too close to 0 to be found.
static double zero_of_cubic(const double value[4]) {
  // divided differences in units of a third
  const double first = value[1] - value[0];
  const double second = 0.5 * (value[2] - value[1] - first);
  const double third = (value[3] - 3.0 * value[2] + 3.0 * value[1] - value[0]) / 6.0;
  double low = 0.0, high = 3.0;
  for (int i = 0; i < BISECTIONS; ++i) {
    const double x = 0.5 * (low + high);
    if (value[0] + x * (first + (x - 1.0) * (second + (x - 2.0) * third)) > 0.0)
      high = x;
    else
      low = x;
  }
  return low / 3.0;
}

// True if the matrix at the end of this stage is not needed.
static bool keeps_matrix(const rf_motion *m) {
  return m->set.newton_max == 1 && m->from == m->q && m->set.scheme->stages > 1 &&
         (m->stage + 1)->same_matrix;
}

// x moves by `part` of the increment.
static rf_status move(rf_motion *m, double part, double *size) {
  for (int64_t i = 0; i < m->n; ++i) m->x[i] += part * m->increment[i];
  return evaluate_residual(m, !keeps_matrix(m), size);
}

// Adds the increment, shortened by the guard of the header, to x.
static rf_status move_guarded(rf_motion *m, double *size) {
  double slope[4] = {slope_of(m)}, at = 0.0;
  for (int k = 3; k > 0; --k) {
    const double part = k / 3.0;
    const rf_status st = move(m, part - at, size);
    if (st < 0) return st;
    slope[k] = slope_of(m);
    at = part;
    if (k == 3 && !(slope[0] < 0.0 && slope[3] > -slope[0])) return RF_OK;
    // at rest both are rounding errors
    if (k == 3 && slope[3] <= ROUNDING * norm(m, m->increment) * force_scale(m)) return RF_OK;
    if (!isfinite(slope[k])) return RF_ERR_DIVERGED;
  }
  ++m->report.shortened;
  const double part = zero_of_cubic(slope);
  return part > 0.0 ? move(m, part - at, size) : RF_ERR_DIVERGED;
}

// A place on the line of an increment.
typedef struct place {
  double energy;  // W, of the share that is solved, and that of contact
  double slope;   // of the energy of the step
  double others;  // its part without these
  double noise;   // rounding error of the energy with contact
} place;

static place place_of(const rf_motion *m) {
  const double slope = slope_of(m), share = share_of(m);
  if (m->system->no_energy) return (place){.slope = slope, .others = slope};
  const double inner = rf_dot_padded(m->system->ld, m->increment, m->force);
  place here = {share * m->energy, slope, slope - share * inner, 0.0};
  if (!m->barrier) return here;
  here.energy += m->barrier->energy;
  here.others -= rf_barrier_slope_rt(m->barrier, m->increment);
  here.noise = m->barrier->noise + DBL_EPSILON * norm(m, m->force) * norm(m, m->x);
  return here;
}

// Returns the part of the increment to try next after `part`; the same: it is good.
static double next_part(const place *start, const place *end, double part) {
  const double work = 0.5 * part * (start->others + end->others);
  const double works = 0.5 * part * (fabs(start->others) + fabs(end->others));
  const double change = end->energy - start->energy + work, promised = part * start->slope;
  const double noise =
      NOISE * (fabs(start->energy) + fabs(end->energy) + works) + (start->noise + end->noise);
  const bool finite = isfinite(end->energy) && isfinite(end->slope);
  if (finite && change <= RF_NEWTON_ARMIJO * promised + noise) return part;
  return rf_newton_shorten_rt(part, promised, change);
}

// Part of an increment to try first: all of it, or what no barrier forbids.
static rf_status first_part(rf_motion *m, double *part) {
  *part = 1.0;
  return m->barrier ? rf_barrier_reach_rt(m->barrier, m->increment, part) : RF_OK;
}

// The iterations end at the x before the increment, since the next one would begin with the same.
static rf_status give_up(rf_motion *m, rf_newton *n) {
  memcpy(m->x, m->start, (size_t)m->n * sizeof *m->x);
  n->most = n->iterations + 1;
  return evaluate_residual(m, true, &n->size);
}

// True unless x is where the law, or a barrier, is not defined.
static bool has_energy(const rf_motion *m) {
  return isfinite(m->energy) && (!m->barrier || isfinite(m->barrier->energy));
}

// True if the residual, small before, has fallen by half: near the solution the changes of energy
// drown in rounding.
static bool falls(const rf_motion *m, const rf_newton *n, double before) {
  return before <= NEAR * n->scale && n->size <= 0.5 * before && has_energy(m);
}

// Adds the increment to x, shortened until the energy of the step falls.  If no length does that,
// the iterations end, in the first of them the step fails.
static rf_status move_searched(rf_motion *m, rf_newton *n) {
  const place start = place_of(m);
  const double before = n->size;
  double at = 0.0, part;
  rf_status st = first_part(m, &part);
  if (st < 0) return st;
  memcpy(m->start, m->x, (size_t)m->n * sizeof *m->x);
  for (int k = 0; k < SEARCHES; ++k) {
    st = move(m, part - at, &n->size);
    if (st < 0) return st;
    at = part;
    if (!(start.slope < 0.0) && isfinite(m->energy) && !m->barrier) return RF_OK;
    const place end = place_of(m);
    part = next_part(&start, &end, at);
    if (part == at || falls(m, n, before)) return RF_OK;
    if (k == 0 && !m->barrier) ++m->report.shortened;
  }
  m->tally.stuck = n->iterations == 0;
  return m->tally.stuck ? RF_ERR_DIVERGED : give_up(m, n);
}

// Adds the increment of the unsymmetric matrix to x, shortened until the residual falls.
static rf_status move_coupled(rf_motion *m, rf_newton *n) {
  const double before = n->size;
  double at = 0.0, part;
  rf_status st = first_part(m, &part);
  if (st < 0) return st;
  memcpy(m->start, m->x, (size_t)m->n * sizeof *m->x);
  for (int k = 0; k < SEARCHES; ++k, part *= 0.5) {
    st = move(m, part - at, &n->size);
    if (st < 0) return st;
    at = part;
    if (has_energy(m) && n->size <= (1.0 - RF_NEWTON_ARMIJO * part) * before) return RF_OK;
  }
  return give_up(m, n);
}

// A linearized stage has its first residual, and later ones are those of the guard.
static rf_status evaluate_newton_rt(void *motion, rf_newton *n) {
  rf_motion *m = motion;
  n->constrained = m->subspace && m->subspace->jumps;
  if (n->iterations > 0) return RF_OK;
  const rf_status st = m->linearized ? RF_OK : evaluate_residual(m, true, &n->size);
  n->scale = fmax(n->scale, fmax(n->size, force_scale(m)));
  return st;
}

// Factor of the matrix, or if it is not positive definite of that with the positive parts of
// contact of parts.
static rf_status factor_unshifted(rf_motion *m, double of_mass) {
  rf_barrier_touch *touch = m->barrier ? m->barrier->touch : NULL;
  if (!touch) return factor_rt(m, of_mass);
  touch->definite = false;
  const rf_status st = factor_rt(m, of_mass);
  touch->definite = true;
  return st == RF_ERR_SINGULAR ? factor_rt(m, of_mass) : st;
}

// Far from rest the tangent may be indefinite.  A larger factor of the mass then makes the energy
// fall in all directions, as a shorter step would; where the mass says little about the step, the
// law is made definite point by point instead, and where neither is enough, the factor grows on.
static rf_status factorize_rt(void *motion) {
  rf_motion *m = motion;
  rf_status (*const make_definite)(rf_system *, const double *) =
      m->system->operations->make_definite;
  const double of_mass = mass_factor(m);
  rf_status st = factor_unshifted(m, of_mass);
  if (st != RF_ERR_SINGULAR) return st;
  ++m->report.indefinite;
  st = factor_rt(m, GROWTH * of_mass);
  if (st == RF_ERR_SINGULAR && make_definite) {
    ++m->report.projected;
    st = make_definite(m->system, m->x);
    if (st >= 0) st = factor_rt(m, of_mass);
  }
  if (st != RF_ERR_SINGULAR) return st;
  const double next = GROWTH * GROWTH * of_mass;
  st = rf_newton_shift_rt(factor_rt, m, next, GROWTH, SHIFTS * of_mass);
  return st == RF_ERR_SINGULAR ? RF_ERR_DIVERGED : st;
}

static rf_status advance_rt(void *motion, rf_newton *n) {
  rf_motion *m = motion;
  ++m->report.solves;
  n->kept = false;
  m->tally.promised = 0.0;
  const bool coupled = m->barrier && m->barrier->coupled;
  rf_status st = solve(m, m->increment);
  if (st >= 0 && coupled) st = rf_barrier_solve_rt(m->barrier, m->system, m->increment);
  if (st < 0) return st;
  if (m->set.newton_max == 1) m->tally.promised = -slope_of(m);
  // with one solve the modes go to their end whole, which energies do not judge
  if (!m->set.line_search || (m->subspace && m->set.newton_max == 1)) return move(m, 1.0, &n->size);
  if (coupled) return move_coupled(m, n);
  return searches(m) ? move_searched(m, n) : move_guarded(m, &n->size);
}

static const rf_newton_operations STAGE_rt = {
    .evaluate = evaluate_newton_rt, .factorize = factorize_rt, .advance = advance_rt};

// Notes the solves of a stage and the residuals before each and after the last.
static void count_stage(rf_motion_tally *step, const rf_newton *n) {
  const int32_t evaluated = n->iterations + 1;
  step->converged &= n->converged;
  step->solves += n->iterations;
  for (int32_t i = 0; i < evaluated && step->evaluated + i < RF_NEWTON_HISTORY; ++i)
    step->history[step->evaluated + i] = n->history[i];
  step->evaluated += evaluated;
}

// True if friction is that of the beginning of the step, or there is none.
static bool lags(const rf_motion *m) {
  return !m->barrier || m->barrier->barrier->set.lagged || m->barrier->barrier->set.friction == 0.0;
}

// Solves the stage with friction held at the beginning of the step, or at x, roughly; then friction
// follows the normal forces.  The scale is that of the first residual.
static rf_status start_coupled(rf_motion *m) {
  rf_newton rough = {.tolerance = fmax(m->set.tolerance, ROUGH), .most = m->set.newton_max};
  m->barrier->coupled = false;
  rough.scale = m->newton.scale;
  const rf_status st = rf_newton_solve_rt(&STAGE_rt, m, &rough);
  m->tally.solves += rough.iterations;
  m->newton.scale = rough.scale;
  m->barrier->coupled = m->prepared = true;
  return st;
}

// Solves a stage with friction of its end.  Iterations that do not converge, as at kinks of the
// distance of edges, start again where they ended, with lagged friction first.
static rf_status solve_coupled(rf_motion *m) {
  rf_newton *n = &m->newton;
  for (int k = 0;; ++k) {
    rf_status st = start_coupled(m);
    n->most = m->set.newton_max;
    if (st >= 0) st = rf_newton_solve_rt(&STAGE_rt, m, n);
    if (st < 0 || n->converged || k == RESTARTS) return st;
    m->tally.solves += n->iterations;
    m->prepared = true;
  }
}

// Adds the part of the increment that a second iteration would add, in the norm of the energy, to
// the report; every eighth step is enough.  The residual itself is no measure: most of it acts in
// stiff directions, in which the body hardly moves.
static rf_status examine(rf_motion *m) {
  rf_motion_report *report = &m->report;
  const bool last = m->set.scheme->stages == 1 || m->from != m->q;
  if (m->set.newton_max > 1 || !last || m->linearized || report->steps % EXAMINED) return RF_OK;
  ++report->examined;
  if (!(m->newton.residual > NEGLIGIBLE && m->tally.promised > 0.0)) return RF_OK;
  rf_system *s = m->system;
  memset(m->change, 0, (size_t)s->ld * sizeof *m->change);
  for (int64_t i = 0; i < m->n; ++i) m->change[i] = m->residual[i];
  const rf_status st = s->operations->solve(s, m->change, m->change);
  const double next = fabs(rf_dot_padded(s->ld, m->change, m->residual));
  if (st >= 0) report->missed += fmin(sqrt(next / m->tally.promised), 1.0);
  return st;
}

// Solves the stage begun; `kept`: with the factor that is there; a linearized one also has its
// first residual, n->size in norm.  Force and tangent are then those of its end.
static rf_status solve_stage(rf_motion *m, bool kept) {
  rf_newton *n = &m->newton;
  n->tolerance = m->set.tolerance;
  n->most = m->set.newton_max;
  n->kept = kept;
  n->scale = 0.0;
  const rf_status st = lags(m) ? rf_newton_solve_rt(&STAGE_rt, m, n) : solve_coupled(m);
  if (st < 0) return st;
  count_stage(&m->tally, n);
  m->prepared = true;
  return examine(m);
}

static rf_status end(rf_motion *m, rf_status st) {
  m->added = NULL;
  m->spring = NULL;
  if (st >= 0 && m->subspace) m->subspace->operations->end(m);
  if (st >= 0) st = rf_motion_keep_rt(m);
  m->prepared = m->prepared && m->has_tangent;
  if (st < 0 && m->subspace) m->subspace->operations->undo(m);
  if (st < 0 && m->barrier) {
    const rf_status begun = rf_barrier_begin_rt(m->barrier, m->q, m->qdot);
    if (begun < 0) st = begun;
  }
  if (st < 0) rf_motion_clean_rt(m);
  return st;
}

rf_status rf_motion_step_stage_rt(rf_motion *m) {
  rf_step_kind kind;
  rf_status st = begin(m, NULL, &kind);
  for (int32_t k = 0; k < m->set.scheme->stages && st >= 0; ++k) {
    st = begin_stage(m, kind, k);
    if (st >= 0) st = solve_stage(m, m->stage->same_matrix && m->tally.solves > 0);
  }
  return end(m, st);
}

rf_status rf_motion_step_added_rt(rf_motion *m, const double *force, const double *stiffness) {
  rf_step_kind kind;
  rf_motion_apply_rt(m, force);
  rf_status st = begin(m, stiffness, &kind);
  if (st >= 0) st = begin_stage(m, kind, 0);
  if (st >= 0) st = solve_stage(m, false);
  return end(m, st);
}

rf_status rf_motion_step_sprung_rt(rf_motion *m, const double *force,
                                   const rf_motion_spring *spring) {
  m->spring = spring;
  return rf_motion_step_added_rt(m, force, NULL);
}

void rf_motion_prepare_rt(rf_motion *m) {
  if (m->prepared) return;
  memcpy(m->x, m->q, (size_t)m->n * sizeof *m->q);
  m->prepared = evaluate(m, true) >= 0;
}

static rf_status linearize(rf_motion *m, double *increment) {
  double size = 0.0;
  rf_status st = evaluate_residual(m, true, &size);
  if (st >= 0) st = isfinite(size) ? factor_rt(m, mass_factor(m)) : RF_ERR_DIVERGED;
  if (st < 0) return st;
  return solve(m, increment);
}

rf_status rf_motion_linearize_rt(rf_motion *m, const double *force, const double *stiffness,
                                 double *increment) {
  rf_step_kind kind;
  rf_motion_apply_rt(m, force);
  rf_status st = begin(m, stiffness, &kind);
  if (st >= 0) st = begin_stage(m, kind, 0);
  if (st >= 0) st = linearize(m, increment);
  if (st < 0) rf_motion_clean_rt(m);
  return st;
}

rf_status rf_motion_solve_rt(rf_motion *m, const double *force, double *response) {
  return m->system->operations->solve(m->system, force, response);
}

void rf_motion_half_solve_rt(rf_motion *m, int32_t ld, double *b) {
  m->system->operations->half_solve(m->system, ld, b);
}

rf_status rf_motion_finish_rt(rf_motion *m, const double *more) {
  const bool carries = m->against != m->applied;
  const double whole = 1.0 + m->stage->carried;
  for (int64_t i = 0; more && i < m->n; ++i) {
    m->applied[i] += more[i];
    if (carries) m->known_force[i] += whole * more[i];
    m->residual[i] -= more[i];
  }
  m->newton.size = norm(m, m->residual);
  m->linearized = true;
  return end(m, solve_stage(m, true));
}
