// One step of reduced central differences; see central.h.
#include <math.h>
#include <string.h>

#include "integrator/central.h"
#include "integrator/central_work.h"
#include "linalg/dense_rt.h"

static rf_status one_step(rf_central *s) {
  rf_central_work *w = s->work;
  const rf_polynomial *p = s->model->polynomial;
  const int32_t r = s->model->r;
  const double h = s->set.dt_s, alpha = s->set.damping_mass, beta = s->set.damping_stiff;
  const size_t bytes = (size_t)r * sizeof(double);

  for (int32_t i = 0; i < r; ++i) {
    w->qdot[i] = s->qdot[i] + 0.5 * h * s->qddot[i];
    w->q[i] = s->q[i] + h * w->qdot[i];
  }
  rf_polynomial_evaluate_rt(p, w->q, w->polynomial, NULL, w->force,
                            beta > 0.0 ? w->stiffness : NULL, w->ld);
  for (int32_t i = 0; i < r; ++i) w->force[i] = w->applied[i] - w->force[i];
  if (beta > 0.0) {
    rf_dense_multiply_rt(p->simd, r, w->stiffness, w->ld, w->qdot, w->product);
    for (int32_t i = 0; i < r; ++i) w->force[i] -= beta * w->product[i];
  }
  if (s->set.strain_rate) {
    rf_damping_matrix_rt(s->set.strain_rate, w->q, w->strain_rate, w->damping, w->ld);
    rf_dense_multiply_rt(p->simd, r, w->damping, w->ld, w->qdot, w->product);
    for (int32_t i = 0; i < r; ++i) w->force[i] -= w->product[i];
  }
  rf_dense_cholesky_solve_rt(p->simd, r, w->factor, w->ld, w->force, w->qddot);

  double size = 0.0;
  for (int32_t i = 0; i < r; ++i) {
    w->qddot[i] = (w->qddot[i] - alpha * w->qdot[i]) / (1.0 + 0.5 * h * alpha);
    w->qdot[i] += 0.5 * h * w->qddot[i];
    size += w->q[i] * w->q[i] + w->qdot[i] * w->qdot[i] + w->qddot[i] * w->qddot[i];
  }
  // a sum of squares is finite only if every term is
  if (!isfinite(size)) return RF_ERR_DIVERGED;
  memcpy(s->q, w->q, bytes);
  memcpy(s->qdot, w->qdot, bytes);
  memcpy(s->qddot, w->qddot, bytes);
  ++s->steps;
  s->time_s = (double)s->steps * h;  // a sum would drift
  return RF_OK;
}

rf_status rf_central_step_rt(rf_central *s, const double *force, int64_t n) {
  for (int32_t i = 0; i < s->model->r; ++i) s->work->applied[i] = force ? force[i] : 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const rf_status st = one_step(s);
    if (st < 0) return st;
  }
  return RF_OK;
}
