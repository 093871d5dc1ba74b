#include "dynamics/system_reduced.h"
#include "linalg/dense_rt.h"

static rf_reduced_system *self(rf_system *s) { return (rf_reduced_system *)s; }

static rf_status evaluate_rt(rf_system *base, const double *x, bool tangent, double *energy,
                             double *force) {
  rf_reduced_system *s = self(base);
  rf_reduced_evaluate_rt(s->model, x, s->energy_work, energy, force,
                         tangent || base->damping_stiff > 0.0 ? s->stiffness : NULL,
                         (int32_t)base->ld);
  if (s->strain_rate)
    rf_damping_matrix_rt(s->strain_rate, x, s->strain_rate_work, s->damping, (int32_t)base->ld);
  return RF_OK;
}

// sum += factor A v
static void add_product(rf_reduced_system *s, double factor, const double *a, const double *v,
                        double *sum) {
  const int32_t r = s->model->r;
  rf_dense_multiply_rt(s->base.simd, r, a, (int32_t)s->base.ld, v, s->product);
  for (int32_t i = 0; i < r; ++i) sum[i] += factor * s->product[i];
}

static rf_status balance_rt(rf_system *base, const double *x, const double *v, const double *w,
                            const double *force, const double *load, double *out) {
  rf_reduced_system *s = self(base);
  const int32_t r = s->model->r;
  (void)x;
  if (w) {
    rf_dense_multiply_rt(base->simd, r, s->mass, (int32_t)base->ld, w, out);
    for (int32_t i = 0; i < r; ++i) out[i] += force[i] - load[i];
  } else {
    for (int32_t i = 0; i < r; ++i) out[i] = force[i] - load[i];
  }
  if (base->damping_stiff > 0.0) add_product(s, base->damping_stiff, s->stiffness, v, out);
  if (s->strain_rate) add_product(s, 1.0, s->damping, v, out);
  return RF_OK;
}

static rf_status factorize_rt(rf_system *base, double mass, double stiffness, double damping,
                              const double *added) {
  rf_reduced_system *s = self(base);
  const int32_t r = s->model->r, ld = (int32_t)base->ld;
  const rf_simd simd = base->simd;
  // a stiffness that is not finite is no part of the mass
  const double *k = stiffness > 0.0 ? s->stiffness : s->mass;
  rf_dense_combine_rt(simd, r, mass, s->mass, stiffness, k, ld, s->factor);
  if (s->strain_rate && damping != 0.0)
    rf_dense_combine_rt(simd, r, 1.0, s->factor, damping, s->damping, ld, s->factor);
  if (added) rf_dense_combine_rt(simd, r, 1.0, s->factor, 1.0, added, ld, s->factor);
  return rf_dense_cholesky_rt(simd, r, s->factor, ld) ? RF_OK : RF_ERR_SINGULAR;
}

static rf_status solve_rt(rf_system *base, const double *b, double *x) {
  const rf_reduced_system *s = self(base);
  rf_dense_cholesky_solve_rt(base->simd, s->model->r, s->factor, (int32_t)base->ld, b, x);
  return RF_OK;
}

static void half_solve_rt(rf_system *base, int32_t ld, double *b) {
  const rf_reduced_system *s = self(base);
  rf_dense_half_solve_rt(base->simd, s->model->r, s->factor, (int32_t)base->ld, ld, b);
}

static rf_status mass_solve_rt(rf_system *base, const double *b, double *x) {
  const rf_reduced_system *s = self(base);
  rf_dense_cholesky_solve_rt(base->simd, s->model->r, s->mass_factor, (int32_t)base->ld, b, x);
  return RF_OK;
}

static double farthest_rt(const rf_system *base, const double *x) {
  return rf_reduced_farthest_rt(((const rf_reduced_system *)base)->model, x);
}

static rf_status multiply_rt(rf_system *base, const double *x, double *out) {
  const rf_reduced_system *s = self(base);
  rf_dense_multiply_rt(base->simd, s->model->r, s->stiffness, (int32_t)base->ld, x, out);
  return RF_OK;
}

static double rounding_rt(const rf_system *base, const double *x) {
  const rf_reduced_system *s = (const rf_reduced_system *)base;
  return rf_system_rounding_rt(base, s->stiffness, x);
}

static double stiffness_per_mass_rt(const rf_system *base) {
  const rf_reduced_system *s = (const rf_reduced_system *)base;
  return rf_system_trace_ratio_rt(base, s->stiffness, s->mass);
}

static rf_system_dense dense_rt(const rf_system *base) {
  const rf_reduced_system *s = (const rf_reduced_system *)base;
  const bool steps = base->explicit_steps;
  return (rf_system_dense){.mass = s->mass,
                           .stiffness = s->stiffness,
                           .factor = steps ? NULL : s->factor,
                           .mass_factor = steps ? s->mass_factor : NULL};
}

const rf_system_operations rf_system_reduced_rt = {.evaluate = evaluate_rt,
                                                   .balance = balance_rt,
                                                   .factorize = factorize_rt,
                                                   .solve = solve_rt,
                                                   .half_solve = half_solve_rt,
                                                   .mass_solve = mass_solve_rt,
                                                   .farthest = farthest_rt,
                                                   .multiply = multiply_rt,
                                                   .rounding = rounding_rt,
                                                   .dense = dense_rt,
                                                   .stiffness_per_mass = stiffness_per_mass_rt};
