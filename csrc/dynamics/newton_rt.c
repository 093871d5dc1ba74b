#include "dynamics/newton.h"

#include <math.h>

#include "linalg/dense_rt.h"
#include "linalg/vector.h"

static const double ROUNDING = 1e-12;  // of forces, relative
enum { BISECTIONS = 40 };              // of the part of an increment

static double norm(const rf_motion *m, const double *x) { return rf_norm_padded(m->system->ld, x); }

static double slope_of(const rf_motion *m) {
  return rf_dot_padded(m->system->ld, m->increment, m->residual);
}

static double force_scale(const rf_motion *m) {
  return fmax(norm(m, m->force), norm(m, m->applied));
}

rf_status rf_newton_look_rt(rf_motion *m, double *size) {
  rf_system *s = m->system;
  const double alpha = s->damping_mass;
  rf_status st = RF_OK;
  m->scheme->operations->rates(m);
  if (!m->prepared) st = s->operations->evaluate(s, m->x, true, NULL, m->force);
  m->prepared = false;
  if (st < 0) return st;
  rf_system_hold_rt(s, m->force);
  for (int64_t i = 0; i < m->n; ++i) m->product[i] = m->xddot[i] + alpha * m->xdot[i];
  st = s->operations->balance(s, m->x, m->xdot, m->product, m->force, m->applied, m->residual);
  if (st < 0) return st;
  if (m->added) {
    for (int64_t i = 0; i < m->n; ++i) m->way[i] = m->x[i] - m->q[i];
    rf_dense_multiply_rt(s->simd, (int32_t)m->n, m->added, (int32_t)s->ld, m->way, m->product);
    for (int64_t i = 0; i < m->n; ++i) m->residual[i] += m->product[i];
  }
  *size = norm(m, m->residual);
  return RF_OK;
}

static rf_status factorize(rf_motion *m, double of_mass) {
  rf_system *s = m->system;
  const double velocity = m->per_way[0];
  return s->operations->factorize(s, of_mass, 1.0 + velocity * s->damping_stiff, velocity,
                                  m->added);
}

static double mass_factor(const rf_motion *m) {
  return m->per_way[1] + m->per_way[0] * m->system->damping_mass;
}

rf_status rf_newton_factorize_rt(rf_motion *m) { return factorize(m, mass_factor(m)); }

// Far from rest the tangent may be indefinite: the factor of the mass grows until the energy falls
// in all directions.
static rf_status factorize_shifted(rf_motion *m) {
  double of_mass = mass_factor(m);
  rf_status st = factorize(m, of_mass);
  if (st == RF_ERR_SINGULAR) ++m->report.indefinite;
  for (int shift = 0; shift < RF_NEWTON_SHIFTS && st == RF_ERR_SINGULAR; ++shift)
    st = factorize(m, of_mass *= 4.0);
  return st == RF_ERR_SINGULAR ? RF_ERR_DIVERGED : st;
}

static rf_status solve(rf_motion *m) {
  for (int64_t i = 0; i < m->n; ++i) m->increment[i] = -m->residual[i];
  return m->system->operations->solve(m->system, m->increment, m->increment);
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

// x moves by `part` of the increment.
static rf_status move(rf_motion *m, double part, double *size) {
  for (int64_t i = 0; i < m->n; ++i) m->x[i] += part * m->increment[i];
  return rf_newton_look_rt(m, size);
}

// Adds the increment, shortened by the guard of the header, to x.
static rf_status advance(rf_motion *m, double *size) {
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
  return move(m, zero_of_cubic(slope) - at, size);
}

rf_status rf_newton_solve_rt(rf_motion *m, bool linearized, double size) {
  rf_stage_outcome *out = &m->outcome;
  double scale = 0.0;
  out->solves = 0;
  out->converged = false;
  rf_status st = linearized ? RF_OK : rf_newton_look_rt(m, &size);
  for (int32_t iteration = 0; iteration < m->set.newton_max; ++iteration) {
    if (st < 0) return st;
    if (!isfinite(size)) return RF_ERR_DIVERGED;
    if (iteration == 0) scale = fmax(size, force_scale(m));
    out->residual = scale > 0.0 ? size / scale : 0.0;
    if (iteration < RF_MOTION_HISTORY) out->history[iteration] = out->residual;
    out->converged = size <= m->set.tolerance * scale;
    if (out->converged) break;
    ++m->report.solves;
    if (!(linearized && iteration == 0)) st = factorize_shifted(m);
    if (st >= 0) st = solve(m);
    if (st < 0) return st;
    ++out->solves;
    st = advance(m, &size);
  }
  if (st < 0) return st;
  return isfinite(size) ? RF_OK : RF_ERR_DIVERGED;
}
