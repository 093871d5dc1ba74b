// The exponential Rosenbrock-Euler method (A21 (14)):
//   u_1 = u_0 + h phi_1(h J) (v, M^-1 F(u_0)),  J = [0 1; -M^-1 K(q_0) -M^-1 D(q_0)].
// Second order for undamped motion and damping by the mass; exact for linear systems.
//
// With C^T C = M^-1 every function of M^-1 K is one of C K C^T.  Of a dense system that matrix is
// reduced to tridiagonal form by Householder's method.  Of a sparse one Lanczos' method builds such
// a form from v, and another one from M^-1 F, with as many vectors as it takes.
#include <float.h>
#include <math.h>
#include <string.h>

#include "dynamics/exponential_euler.h"
#include "dynamics/motion.h"
#include "linalg/dense_rt.h"
#include "linalg/tridiagonal.h"
#include "linalg/vector.h"

enum { CHECKED = 4 };  // vectors of Lanczos' method from one check to the next

static const double ROUNDING = 64.0 * DBL_EPSILON;  // of the mass of an orthonormal basis

// ---- dense systems

// C = L^-1 of M = L L^T, once.
static void begin_dense(rf_motion *m, rf_exponential_work *w) {
  const rf_system *s = m->system;
  const rf_system_dense matrices = s->operations->dense(s);
  double worst = 0.0;
  for (int64_t i = 0; i < s->n; ++i)
    for (int64_t j = 0; j < s->n; ++j)
      worst = fmax(worst, fabs(matrices.mass[i * s->ld + j] - (i == j ? 1.0 : 0.0)));
  w->orthonormal = worst <= ROUNDING;
  if (w->orthonormal) return;
  for (int64_t i = 0; i < s->n; ++i) w->transform[i * s->ld + i] = 1.0;
  rf_dense_half_solve_rt(s->simd, s->n, matrices.mass_factor, (int32_t)s->ld, (int32_t)s->ld,
                         w->transform);
  for (int64_t i = 0; i < s->n; ++i)
    for (int64_t j = 0; j < s->n; ++j) w->transposed[j * s->ld + i] = w->transform[i * s->ld + j];
}

// Puts C K C^T, C M v and C F.
static void transform(rf_motion *m, rf_exponential_work *w) {
  const rf_system *s = m->system;
  const rf_system_dense matrices = s->operations->dense(s);
  const int32_t r = s->n, ld = (int32_t)s->ld;
  const size_t square = (size_t)r * (size_t)ld * sizeof(double);
  if (w->orthonormal) {
    memcpy(w->matrix, matrices.stiffness, square);
    memcpy(w->rate, m->qdot, (size_t)ld * sizeof(double));
    for (int32_t i = 0; i < r; ++i) w->force[i] = -m->residual[i];
    return;
  }
  memset(w->product, 0, square);
  memset(w->matrix, 0, square);
  rf_dense_add_products_rt(s->simd, r, r, r, matrices.stiffness, ld, w->transposed, ld, w->product);
  rf_dense_add_products_rt(s->simd, r, r, r, w->transposed, ld, w->product, ld, w->matrix);
  rf_dense_multiply_rt(s->simd, r, matrices.mass, ld, m->qdot, w->scratch);
  rf_dense_multiply_rt(s->simd, r, w->transform, ld, w->scratch, w->rate);
  for (int32_t i = 0; i < r; ++i) w->scratch[i] = -m->residual[i];
  rf_dense_multiply_rt(s->simd, r, w->transform, ld, w->scratch, w->force);
}

// x += C^T of a change
static void add_back(const rf_motion *m, rf_exponential_work *w, double *change, double *x) {
  const rf_system *s = m->system;
  const int32_t ld = (int32_t)s->ld;
  rf_tridiagonal_back_rt(s->simd, s->n, w->matrix, ld, change);
  const double *of = change;
  if (!w->orthonormal) {
    rf_dense_multiply_rt(s->simd, s->n, w->transposed, ld, change, w->scratch);
    of = w->scratch;
  }
  for (int32_t i = 0; i < s->n; ++i) x[i] += of[i];
}

static rf_status advance_dense(rf_motion *m, rf_exponential_work *w) {
  const rf_system *s = m->system;
  const int32_t ld = (int32_t)s->ld;
  double low, high;
  if (!w->begun) begin_dense(m, w);
  w->begun = true;
  transform(m, w);
  rf_tridiagonal_reduce_rt(s->simd, s->n, w->matrix, ld, w->diagonal, w->beside, w->scratch);
  rf_exponential_bounds_rt(s->n, w->diagonal, w->beside, &low, &high);
  if (!rf_exponential_cover_rt(&w->series, low, high)) return RF_ERR_DIVERGED;
  rf_tridiagonal_into_rt(s->simd, s->n, w->matrix, ld, w->rate);
  rf_tridiagonal_into_rt(s->simd, s->n, w->matrix, ld, w->force);
  rf_exponential_apply_rt(&w->series, s->n, w->diagonal, w->beside, w->rate, w->force, w->apply,
                          w->change, w->rate_change);
  add_back(m, w, w->change, m->x);
  add_back(m, w, w->rate_change, m->xdot);
  return RF_OK;
}

// ---- sparse systems

static double dot(const rf_motion *m, const double *x, const double *y) {
  return rf_dot_padded(m->system->ld, x, y);
}

// One more vector: from the last one and its load to the next ones, with entries of the form.
// *left: false when the vectors span a space that K does not leave.
static rf_status lengthen(rf_motion *m, rf_exponential_work *w, int32_t k, bool *left) {
  rf_system *s = m->system;
  const int64_t ld = s->ld;
  double *const now = w->vectors + k * ld, *const load = w->loads + k % 2 * ld;
  double *const next = w->loads + (k + 1) % 2 * ld;  // takes the place of the load before
  rf_status st = s->operations->multiply(s, now, w->scratch);
  if (st < 0) return st;
  rf_system_keep_free_rt(s, w->scratch);
  const double along = w->diagonal[k] = dot(m, now, w->scratch);
  for (int64_t i = 0; i < s->n; ++i)
    next[i] = w->scratch[i] - along * load[i] - (k > 0 ? w->beside[k - 1] * next[i] : 0.0);
  double *const ahead = now + ld;
  memset(ahead, 0, (size_t)ld * sizeof *ahead);
  st = s->operations->mass_solve(s, next, ahead);
  if (st < 0) return st;
  rf_system_clear_fixed_rt(s, ahead);
  const double square = dot(m, next, ahead);
  w->beside[k] = square > 0.0 ? sqrt(square) : 0.0;
  *left = w->beside[k] > DBL_EPSILON * (fabs(along) + (k > 0 ? w->beside[k - 1] : 0.0));
  for (int64_t i = 0; *left && i < s->n; ++i) {
    ahead[i] /= w->beside[k];
    next[i] /= w->beside[k];
  }
  return RF_OK;
}

// Result of `count` vectors, from the first one with `size`.  `left`: there is a next one, with
// which K joins the last one by beside[count - 1]; that part of the equation is left out, and its
// size is the measure of the error.
static rf_status try_vectors(rf_motion *m, rf_exponential_work *w, int32_t count, double size,
                             bool of_rate, bool left, bool *enough) {
  const rf_exponential_settings *set = m->set.own;
  const double h = m->set.dt_s, beta = m->system->damping_stiff;
  double low, high, last = 0.0, whole = 0.0;
  memset(w->rate, 0, (size_t)count * sizeof *w->rate);
  w->rate[0] = size;
  rf_exponential_bounds_rt(count, w->diagonal, w->beside, &low, &high);
  if (!rf_exponential_cover_rt(&w->series, low, high)) return RF_ERR_DIVERGED;
  rf_exponential_apply_rt(&w->series, count, w->diagonal, w->beside, of_rate ? w->rate : NULL,
                          of_rate ? NULL : w->rate, w->apply, w->change, w->rate_change);
  for (int32_t i = 0; i < count; ++i) {
    const double change = fabs(w->change[i]), rate = fabs(w->rate_change[i]);
    whole = fmax(whole, fmax(change / h, rate));
    if (i >= count - 2 && left)
      last = fmax(last, h * w->beside[count - 1] * (change + beta * rate));
  }
  *enough = !left || last <= set->accuracy * whole;
  return RF_OK;
}

// Adds the part of the step that comes from v, whose load is known, or from M^-1 F.
static rf_status add_lanczos(rf_motion *m, rf_exponential_work *w, double *start, double *load,
                             bool of_rate) {
  rf_system *s = m->system;
  const int64_t ld = s->ld;
  const int32_t room = rf_exponential_size(s, m->set.own);
  const double square = dot(m, start, load), size = square > 0.0 ? sqrt(square) : 0.0;
  bool enough = false, left = true;
  int32_t count = 0;
  if (!isfinite(square)) return RF_ERR_DIVERGED;
  if (!(size > 0.0)) return RF_OK;
  for (int64_t i = 0; i < ld; ++i) {
    w->vectors[i] = i < s->n ? start[i] / size : 0.0;
    w->loads[i] = i < s->n ? load[i] / size : 0.0;
    w->loads[ld + i] = 0.0;
  }
  while (!enough && left && count < room) {
    rf_status st = lengthen(m, w, count, &left);
    ++count;
    if (st >= 0 && (!left || count % CHECKED == 0 || count == room))
      st = try_vectors(m, w, count, size, of_rate, left, &enough);
    if (st < 0) return st;
  }
  m->report.solves += count;
  if (!enough) return RF_ERR_DIVERGED;
  for (int32_t k = 0; k < count; ++k)
    for (int64_t i = 0; i < s->n; ++i) {
      m->x[i] += w->change[k] * w->vectors[k * ld + i];
      m->xdot[i] += w->rate_change[k] * w->vectors[k * ld + i];
    }
  return RF_OK;
}

static rf_status advance_sparse(rf_motion *m, rf_exponential_work *w) {
  rf_system *s = m->system;
  double *const load = m->change, *const force = m->product, *const start = m->increment;
  // M v, as a balance without other forces
  rf_status st = s->operations->balance(s, m->q, w->zero, m->qdot, w->zero, w->zero, load);
  for (int64_t i = 0; i < s->n; ++i) force[i] = -m->residual[i];
  memset(start, 0, (size_t)s->ld * sizeof *start);
  if (st >= 0) st = s->operations->mass_solve(s, force, start);
  if (st < 0) return st;
  rf_system_clear_fixed_rt(s, start);
  memcpy(w->force, m->qdot, (size_t)s->n * sizeof *start);
  st = add_lanczos(m, w, w->force, load, true);
  return st < 0 ? st : add_lanczos(m, w, start, force, false);
}

// ---- a step

// m->residual = minus the force F = f - C v - R without its part from the mass, at a place that was
// evaluated.
static rf_status balance(rf_motion *m, const double *x, const double *v) {
  rf_system *s = m->system;
  rf_system_keep_free_rt(s, m->force);
  return s->operations->balance(s, x, v, NULL, m->force, m->applied, m->residual);
}

// Adds alpha M v to it.
static rf_status balance_whole(rf_motion *m, rf_exponential_work *w) {
  rf_system *s = m->system;
  const double alpha = s->damping_mass;
  rf_status st = balance(m, m->q, m->qdot);
  if (st < 0 || alpha == 0.0) return st;
  st = s->operations->balance(s, m->q, w->zero, m->qdot, w->zero, w->zero, m->product);
  for (int64_t i = 0; i < s->n; ++i) m->residual[i] += alpha * m->product[i];
  return st;
}

static rf_status compute(rf_motion *m) {
  rf_system *s = m->system;
  const rf_system_operations *op = s->operations;
  rf_exponential_work *w = m->scheme_work;
  rf_status st = RF_OK;
  m->displaced_m = 0.0;
  if (w->series.h == 0.0) {
    w->series.h = m->set.dt_s;
    w->series.alpha = s->damping_mass;
    w->series.beta = s->damping_stiff;
  }
  if (!m->prepared) st = op->evaluate(s, m->q, true, NULL, m->force);
  m->prepared = false;
  if (st >= 0) st = balance_whole(m, w);
  memcpy(m->x, m->q, (size_t)s->n * sizeof *m->q);
  memcpy(m->xdot, m->qdot, (size_t)s->n * sizeof *m->q);
  if (st >= 0) st = op->dense ? advance_dense(m, w) : advance_sparse(m, w);
  if (st >= 0) st = op->evaluate(s, m->x, true, NULL, m->force);
  if (st >= 0) st = balance(m, m->x, m->xdot);
  for (int64_t i = 0; i < m->n; ++i) m->residual[i] = 0.0 - m->residual[i];  // no negative zeros
  if (st >= 0) st = op->mass_solve(s, m->residual, m->xddot);
  if (st < 0) return st;
  for (int64_t i = 0; i < m->n; ++i) m->xddot[i] -= s->damping_mass * m->xdot[i];
  st = rf_motion_keep_rt(m);
  m->prepared = st >= 0;
  return st;
}

rf_status rf_exponential_step_rt(rf_motion *m) {
  const rf_status st = compute(m);
  if (st < 0) rf_motion_clean_rt(m);
  return st;
}
