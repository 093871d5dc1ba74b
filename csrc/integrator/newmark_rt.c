// One step of the reduced implicit Newmark scheme; see integrator.h.
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "integrator/integrator.h"
#include "integrator/newmark_work.h"
#include "linalg/dense_rt.h"

// acceleration and velocity that belong to position w->q
static void update_rates(const rf_newmark *s, rf_newmark_work *w) {
  const rf_newmark_coefficients c = s->coef;
  for (int32_t i = 0; i < s->model->r; ++i) {
    const double dq = w->q[i] - s->q[i];
    w->qddot[i] = c.a1 * dq - c.a2 * s->qdot[i] - c.a3 * s->qddot[i];
    w->qdot[i] = c.a4 * dq + c.a5 * s->qdot[i] + c.a6 * s->qddot[i];
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

static double norm(int32_t ld, const double *x) { return sqrt(dot(ld, x, x)); }

// residual = M (acc + alpha v) + beta K v + D v + R - f; its norm
static double residual_norm(const rf_newmark *s, rf_newmark_work *w) {
  const int32_t r = s->model->r, ld = w->ld;
  const double alpha = s->set.damping_mass, beta = s->set.damping_stiff;
  const rf_simd simd = s->model->polynomial->simd;
  for (int32_t i = 0; i < r; ++i) w->product[i] = w->qddot[i] + alpha * w->qdot[i];
  rf_dense_multiply_rt(simd, r, w->mass, ld, w->product, w->residual);
  for (int32_t i = 0; i < r; ++i) w->residual[i] += w->force[i] - w->applied[i];
  if (beta > 0.0) {
    rf_dense_multiply_rt(simd, r, w->stiffness, ld, w->qdot, w->product);
    for (int32_t i = 0; i < r; ++i) w->residual[i] += beta * w->product[i];
  }
  if (s->set.strain_rate) {
    rf_damping_matrix_rt(s->set.strain_rate, w->q, w->strain_rate, w->damping, ld);
    rf_dense_multiply_rt(simd, r, w->damping, ld, w->qdot, w->product);
    for (int32_t i = 0; i < r; ++i) w->residual[i] += w->product[i];
  }
  return norm(ld, w->residual);
}

// residual becomes the increment; false when the matrix is singular
static bool solve(rf_newmark *s, rf_newmark_work *w) {
  const int32_t r = s->model->r, ld = w->ld;
  const double alpha = s->set.damping_mass, beta = s->set.damping_stiff;
  const double of_mass = s->coef.a1 + s->coef.a4 * alpha, of_stiffness = 1.0 + s->coef.a4 * beta;
  const rf_simd simd = s->model->polynomial->simd;
  // what damps by the rate of strain joins the stiffness, which is evaluated anew for each solve
  if (s->set.strain_rate)
    for (int32_t i = 0; i < r * ld; ++i)
      w->stiffness[i] += s->coef.a4 / of_stiffness * w->damping[i];
  rf_dense_combine_rt(simd, r, of_mass, w->mass, of_stiffness, w->stiffness, ld, w->system);
  for (int32_t i = 0; i < r; ++i) w->residual[i] = -w->residual[i];
  ++s->report.solves;
  if (rf_dense_cholesky_rt(simd, r, w->system, ld)) {
    rf_dense_cholesky_solve_rt(simd, r, w->system, ld, w->residual, w->residual);
    return true;
  }
  // far from rest the tangent may be indefinite; Newton's direction is still defined
  ++s->report.indefinite;
  for (int32_t i = 0; i < r * ld; ++i)
    w->system[i] = of_mass * w->mass[i] + of_stiffness * w->stiffness[i];
  return rf_dense_lu_solve_rt(r, w->system, ld, w->residual);
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

static rf_status one_step(rf_newmark *s) {
  rf_newmark_work *w = s->work;
  const int32_t r = s->model->r;
  const size_t bytes = (size_t)r * sizeof(double);
  double scale = 0.0, residual = 0.0, history[RF_NEWMARK_HISTORY];
  int32_t solves = 0;
  bool converged = false;

  memcpy(w->q, s->q, bytes);
  for (int32_t iteration = 0; iteration < s->set.newton_max; ++iteration) {
    update_rates(s, w);
    rf_polynomial_evaluate_rt(s->model->polynomial, w->q, w->polynomial, NULL, w->force,
                              w->stiffness, w->ld);
    const double now = residual_norm(s, w);
    if (!isfinite(now)) return RF_ERR_DIVERGED;
    if (iteration == 0) scale = fmax(now, fmax(norm(w->ld, w->force), norm(w->ld, w->applied)));
    residual = scale > 0.0 ? now / scale : 0.0;
    if (iteration < RF_NEWMARK_HISTORY) history[iteration] = residual;
    converged = now <= s->set.tolerance * scale;
    if (converged) break;
    if (!solve(s, w)) return RF_ERR_DIVERGED;
    ++solves;
    for (int32_t i = 0; i < r; ++i) w->q[i] += w->residual[i];
  }
  update_rates(s, w);
  // a sum of squares is finite only if every term is
  if (!isfinite(dot(w->ld, w->q, w->q) + dot(w->ld, w->qdot, w->qdot) +
                dot(w->ld, w->qddot, w->qddot)))
    return RF_ERR_DIVERGED;

  memcpy(s->q, w->q, bytes);
  memcpy(s->qdot, w->qdot, bytes);
  memcpy(s->qddot, w->qddot, bytes);
  rf_newmark_note_rt(&s->report, solves, converged, history, residual);
  s->time_s = (double)s->report.steps * s->set.dt_s;  // a sum would drift
  return RF_OK;
}

rf_status rf_newmark_step_rt(rf_newmark *s, const double *force, int64_t n) {
  for (int32_t i = 0; i < s->model->r; ++i) s->work->applied[i] = force ? force[i] : 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const rf_status st = one_step(s);
    if (st < 0) return st;
  }
  return RF_OK;
}
