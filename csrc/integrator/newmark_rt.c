// One step of the reduced implicit Newmark scheme; see newmark.h.
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "integrator/newmark.h"
#include "integrator/reduced_motion.h"
#include "linalg/dense_rt.h"

// acceleration and velocity that belong to position x
static void update_rates(const rf_newmark *s, rf_reduced_motion *m) {
  const rf_newmark_coefficients c = *s->now;
  for (int32_t i = 0; i < s->model->r; ++i) {
    const double dq = m->x[i] - s->q[i];
    m->xddot[i] = c.a1 * dq - c.a2 * s->qdot[i] - c.a3 * s->qddot[i];
    m->xdot[i] = c.a4 * dq + c.a5 * s->qdot[i] + c.a6 * s->qddot[i];
  }
}

// four partial sums: a chain of additions a quarter as long
static double dot(int32_t ld, const double *x, const double *y) {
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  for (int32_t i = 0; i < ld; i += 4) {
    s0 += x[i] * y[i];
    s1 += x[i + 1] * y[i + 1];
    s2 += x[i + 2] * y[i + 2];
    s3 += x[i + 3] * y[i + 3];
  }
  return (s0 + s1) + (s2 + s3);
}

static const double ROUNDING = 1e-12;  // of forces, relative
enum { BISECTIONS = 40 };              // of the part of an increment

static double norm(int32_t ld, const double *x) { return sqrt(dot(ld, x, x)); }

// residual = M (acc + alpha v) + beta K v + D v + R - f, and what was added; its norm
static double residual_norm(const rf_newmark *s, rf_reduced_motion *m) {
  const int32_t r = s->model->r, ld = m->ld;
  const double alpha = s->set.damping_mass;
  for (int32_t i = 0; i < r; ++i) m->product[i] = m->xddot[i] + alpha * m->xdot[i];
  rf_dense_multiply_rt(s->model->polynomial->simd, r, m->mass, ld, m->product, m->residual);
  for (int32_t i = 0; i < r; ++i) m->residual[i] += m->force[i] - m->applied[i];
  rf_reduced_motion_damp_rt(m, 1.0, m->residual);
  if (m->added) {
    for (int32_t i = 0; i < r; ++i) m->way[i] = m->x[i] - s->q[i];
    rf_dense_multiply_rt(s->model->polynomial->simd, r, m->added, ld, m->way, m->product);
    for (int32_t i = 0; i < r; ++i) m->residual[i] += m->product[i];
  }
  return norm(ld, m->residual);
}

// The factor of `of_mass` M + K + a4 (beta K + D) and what was added; false when it is not positive
// definite.
static bool factorize(const rf_newmark *s, rf_reduced_motion *m, double of_mass) {
  const int32_t r = s->model->r, ld = m->ld;
  const double a4 = s->now->a4, of_stiffness = 1.0 + a4 * s->set.damping_stiff;
  const rf_simd simd = s->model->polynomial->simd;
  rf_dense_combine_rt(simd, r, of_mass, m->mass, of_stiffness, m->stiffness, ld, m->system);
  if (s->set.strain_rate)
    rf_dense_combine_rt(simd, r, 1.0, m->system, a4, m->damping, ld, m->system);
  if (m->added) rf_dense_combine_rt(simd, r, 1.0, m->system, 1.0, m->added, ld, m->system);
  return rf_dense_cholesky_rt(simd, r, m->system, ld);
}

static double mass_factor(const rf_newmark *s) {
  return s->now->a1 + s->now->a4 * s->set.damping_mass;
}

// Far from rest the tangent may be indefinite: the factor of the mass grows until the energy falls
// in all directions.  False when it never does.
static bool factorize_indefinite(rf_newmark *s, rf_reduced_motion *m) {
  double of_mass = mass_factor(s);
  ++s->report.indefinite;
  for (int shift = 0; shift < RF_NEWMARK_SHIFTS; ++shift)
    if (factorize(s, m, of_mass *= 4.0)) return true;
  return false;
}

// the increment, by the factor
static void solve(const rf_newmark *s, rf_reduced_motion *m) {
  const int32_t r = s->model->r;
  for (int32_t i = 0; i < r; ++i) m->increment[i] = -m->residual[i];
  rf_dense_cholesky_solve_rt(s->model->polynomial->simd, r, m->system, m->ld, m->increment,
                             m->increment);
}

void rf_newmark_note_rt(rf_newmark_report *report, int32_t solves, bool converged,
                        const double *history, double residual) {
  const int32_t evaluated = converged ? solves + 1 : solves;
  ++report->steps;
  if (!converged) ++report->unconverged;
  if (solves > report->most_solves) report->most_solves = solves;
  report->last_solves = solves;
  report->n_history = evaluated < RF_NEWMARK_HISTORY ? evaluated : RF_NEWMARK_HISTORY;
  for (int32_t i = 0; i < report->n_history; ++i) report->history[i] = history[i];
  report->residual = residual;
}

static void evaluate(rf_reduced_motion *m) {
  rf_polynomial_evaluate_rt(m->model->polynomial, m->x, m->polynomial_work, NULL, m->force,
                            m->stiffness, m->ld);
  rf_reduced_motion_viscosity_rt(m);
}

// Forces and residual at x, the norm of this.
static double look(rf_newmark *s, rf_reduced_motion *m) {
  update_rates(s, m);
  if (!m->prepared) evaluate(m);
  m->prepared = false;
  return residual_norm(s, m);
}

// Returns the zero in (0, 1) of the cubic with these values at 0, 1/3, 2/3 and 1.  The first must
// be negative, the last positive.
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

// Adds the increment, shortened by the guard of the header, to x.  Returns the norm of the
// residual.
static double advance(rf_newmark *s, rf_reduced_motion *m) {
  const int32_t r = s->model->r;
  double slope[4] = {dot(m->ld, m->increment, m->residual)}, at = 0.0, now = 0.0;
  for (int k = 3; k > 0; --k) {
    const double part = k / 3.0;
    for (int32_t i = 0; i < r; ++i) m->x[i] += (part - at) * m->increment[i];
    now = look(s, m);
    slope[k] = dot(m->ld, m->increment, m->residual);
    at = part;
    if (k == 3 && !(slope[0] < 0.0 && slope[3] > -slope[0])) return now;
    // at rest both are rounding errors
    if (k == 3 && slope[3] <= ROUNDING * norm(m->ld, m->increment) *
                                  fmax(norm(m->ld, m->force), norm(m->ld, m->applied)))
      return now;
    if (!isfinite(slope[k])) return INFINITY;
  }
  ++s->report.shortened;
  const double part = zero_of_cubic(slope);
  for (int32_t i = 0; i < r; ++i) m->x[i] += (part - at) * m->increment[i];
  return look(s, m);
}

// `added`: A, nullable; positive semidefinite, so that it is zero if its diagonal is
static void begin_step(rf_newmark *s, const double *added) {
  rf_reduced_motion *m = s->motion;
  m->added = added;
  s->now = &s->coef;
  s->displaced_m = 0.0;
  for (int32_t i = 0; added && i < s->model->r; ++i)
    if (added[i * (m->ld + 1)] != 0.0) s->now = &s->coef_added;
  memcpy(m->x, s->q, (size_t)s->model->r * sizeof *s->q);
}

// Newton's iterations from x to the end of the step; the first has its residual, `now` in size, and
// its factor already where the step is `linearized`.
static rf_status end_step(rf_newmark *s, bool linearized, double now) {
  rf_reduced_motion *m = s->motion;
  const int32_t r = s->model->r;
  const size_t bytes = (size_t)r * sizeof(double);
  double scale = 0.0, residual = 0.0, history[RF_NEWMARK_HISTORY];
  int32_t solves = 0;
  bool converged = false;

  for (int32_t iteration = 0; iteration < s->set.newton_max; ++iteration) {
    const bool ready = linearized && iteration == 0;
    if (!linearized && iteration == 0) now = look(s, m);
    if (!isfinite(now)) return RF_ERR_DIVERGED;
    if (iteration == 0) scale = fmax(now, fmax(norm(m->ld, m->force), norm(m->ld, m->applied)));
    residual = scale > 0.0 ? now / scale : 0.0;
    if (iteration < RF_NEWMARK_HISTORY) history[iteration] = residual;
    converged = now <= s->set.tolerance * scale;
    if (converged) break;
    ++s->report.solves;
    if (!ready && !factorize(s, m, mass_factor(s)) && !factorize_indefinite(s, m))
      return RF_ERR_DIVERGED;
    solve(s, m);
    ++solves;
    now = advance(s, m);
  }
  if (!isfinite(now)) return RF_ERR_DIVERGED;
  // a sum of squares is finite only if every term is
  if (!isfinite(dot(m->ld, m->x, m->x) + dot(m->ld, m->xdot, m->xdot) +
                dot(m->ld, m->xddot, m->xddot)))
    return RF_ERR_DIVERGED;
  const double displaced = s->bounded ? rf_reduced_farthest_rt(s->model, m->x) : 0.0;
  if (rf_newmark_far_rt(s, displaced)) {
    s->displaced_m = displaced;
    return RF_ERR_DIVERGED;
  }

  memcpy(s->q, m->x, bytes);
  memcpy(s->qdot, m->xdot, bytes);
  memcpy(s->qddot, m->xddot, bytes);
  m->prepared = true;
  rf_newmark_note_rt(&s->report, solves, converged, history, residual);
  s->time_s = (double)s->report.steps * s->set.dt_s;  // a sum would drift
  return RF_OK;
}

rf_status rf_newmark_step_rt(rf_newmark *s, const double *force, int64_t n) {
  rf_reduced_motion_apply_rt(s->motion, force);
  for (int64_t i = 0; i < n; ++i) {
    begin_step(s, NULL);
    const rf_status st = end_step(s, false, 0.0);
    if (st < 0) return st;
  }
  return RF_OK;
}

rf_status rf_newmark_step_within_rt(rf_newmark *s, const double *force, int64_t n) {
  const rf_status st = rf_newmark_step_rt(s, force, n - 1);
  if (st < 0) return st;
  s->bounded = true;
  const rf_status last = rf_newmark_step_rt(s, force, 1);
  s->bounded = false;
  return last;
}

rf_status rf_newmark_step_added_rt(rf_newmark *s, const double *force, const double *stiffness) {
  rf_reduced_motion_apply_rt(s->motion, force);
  begin_step(s, stiffness);
  const rf_status st = end_step(s, false, 0.0);
  s->motion->added = NULL;
  return st;
}

void rf_newmark_prepare_rt(rf_newmark *s) {
  if (s->motion->prepared) return;
  begin_step(s, NULL);
  evaluate(s->motion);
  s->motion->prepared = true;
}

void rf_newmark_follow_rt(rf_newmark *s, const rf_newmark *other) {
  const size_t bytes = (size_t)s->model->r * sizeof *s->q;
  memcpy(s->q, other->q, bytes);
  memcpy(s->qdot, other->qdot, bytes);
  memcpy(s->qddot, other->qddot, bytes);
  s->motion->prepared = false;
}

rf_status rf_newmark_linearize_rt(rf_newmark *s, const double *force, const double *stiffness,
                                  double *increment) {
  rf_reduced_motion *m = s->motion;
  const int32_t r = s->model->r;
  rf_reduced_motion_apply_rt(m, force);
  begin_step(s, stiffness);
  if (!isfinite(look(s, m))) return RF_ERR_DIVERGED;
  if (!factorize(s, m, mass_factor(s))) return RF_ERR_SINGULAR;
  for (int32_t i = 0; i < r; ++i) increment[i] = -m->residual[i];
  rf_newmark_solve_rt(s, increment, increment);
  return RF_OK;
}

void rf_newmark_solve_rt(const rf_newmark *s, const double *force, double *response) {
  const rf_reduced_motion *m = s->motion;
  rf_dense_cholesky_solve_rt(s->model->polynomial->simd, s->model->r, m->system, m->ld, force,
                             response);
}

rf_status rf_newmark_finish_rt(rf_newmark *s, const double *more) {
  rf_reduced_motion *m = s->motion;
  for (int32_t i = 0; more && i < s->model->r; ++i) {
    m->applied[i] += more[i];
    m->residual[i] -= more[i];
  }
  const rf_status st = end_step(s, true, norm(m->ld, m->residual));
  m->added = NULL;
  return st;
}
