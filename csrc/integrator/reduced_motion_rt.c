// Forces in a reduced model in motion; see reduced_motion.h.
#include "integrator/reduced_motion.h"
#include "linalg/dense_rt.h"

void rf_reduced_motion_apply_rt(rf_reduced_motion *m, const double *force) {
  for (int32_t i = 0; i < m->model->r; ++i)
    m->applied[i] = force ? m->load[i] + force[i] : m->load[i];
}

void rf_reduced_motion_viscosity_rt(rf_reduced_motion *m) {
  if (m->strain_rate)
    rf_damping_matrix_rt(m->strain_rate, m->x, m->strain_rate_work, m->damping, m->ld);
}

void rf_reduced_motion_damp_rt(rf_reduced_motion *m, double sign, double *sum) {
  const int32_t r = m->model->r, ld = m->ld;
  const rf_simd simd = m->model->polynomial->simd;
  const double factor = sign * m->damping_stiff;
  if (m->damping_stiff > 0.0) {
    rf_dense_multiply_rt(simd, r, m->stiffness, ld, m->xdot, m->product);
    for (int32_t i = 0; i < r; ++i) sum[i] += factor * m->product[i];
  }
  if (m->strain_rate) {
    rf_dense_multiply_rt(simd, r, m->damping, ld, m->xdot, m->product);
    for (int32_t i = 0; i < r; ++i) sum[i] += sign * m->product[i];
  }
}

void rf_reduced_motion_balance_rt(rf_reduced_motion *m) {
  rf_polynomial_evaluate_rt(m->model->polynomial, m->x, m->polynomial_work, NULL, m->force,
                            m->damping_stiff > 0.0 ? m->stiffness : NULL, m->ld);
  rf_reduced_motion_viscosity_rt(m);
  for (int32_t i = 0; i < m->model->r; ++i) m->force[i] = m->applied[i] - m->force[i];
  rf_reduced_motion_damp_rt(m, -1.0, m->force);
}
