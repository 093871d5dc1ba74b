#include <float.h>
#include <math.h>

#include "dynamics/system_dense.h"
#include "linalg/dense_rt.h"

static rf_dense_system *self(rf_system *s) { return (rf_dense_system *)s; }
static const rf_dense_system *view(const rf_system *s) { return (const rf_dense_system *)s; }

// sum += factor A v
static void add_product(rf_dense_system *s, double factor, const double *a, const double *v,
                        double *sum) {
  const int32_t r = s->base.n;
  rf_dense_multiply_rt(s->base.simd, r, a, (int32_t)s->base.ld, v, s->product);
  for (int32_t i = 0; i < r; ++i) sum[i] += factor * s->product[i];
}

rf_status rf_system_dense_balance_rt(rf_system *base, const double *x, const double *v,
                                     const double *w, const double *force, const double *load,
                                     double *out) {
  rf_dense_system *s = self(base);
  const int32_t r = base->n;
  (void)x;
  if (w) {
    rf_dense_multiply_rt(base->simd, r, s->mass, (int32_t)base->ld, w, out);
    for (int32_t i = 0; i < r; ++i) out[i] += force[i] - load[i];
  } else {
    for (int32_t i = 0; i < r; ++i) out[i] = force[i] - load[i];
  }
  if (base->damping_stiff > 0.0) add_product(s, base->damping_stiff, s->stiffness, v, out);
  if (base->own_damping) add_product(s, 1.0, s->damping, v, out);
  return RF_OK;
}

rf_status rf_system_dense_factorize_rt(rf_system *base, double mass, double stiffness,
                                       double damping, const double *added) {
  const rf_dense_system *s = self(base);
  const int32_t r = base->n, ld = (int32_t)base->ld;
  const rf_simd simd = base->simd;
  // a stiffness that is not finite is no part of the mass
  const double *k = stiffness > 0.0 ? s->stiffness : s->mass;
  rf_dense_combine_rt(simd, r, mass, s->mass, stiffness, k, ld, s->factor);
  if (base->own_damping && damping != 0.0)
    rf_dense_combine_rt(simd, r, 1.0, s->factor, damping, s->damping, ld, s->factor);
  if (added) rf_dense_combine_rt(simd, r, 1.0, s->factor, 1.0, added, ld, s->factor);
  return rf_dense_cholesky_rt(simd, r, s->factor, ld) ? RF_OK : RF_ERR_SINGULAR;
}

rf_status rf_system_dense_solve_rt(rf_system *s, const double *b, double *x) {
  rf_dense_cholesky_solve_rt(s->simd, s->n, self(s)->factor, (int32_t)s->ld, b, x);
  return RF_OK;
}

void rf_system_dense_half_solve_rt(rf_system *s, int32_t ld, double *b) {
  rf_dense_half_solve_rt(s->simd, s->n, self(s)->factor, (int32_t)s->ld, ld, b);
}

rf_status rf_system_dense_mass_solve_rt(rf_system *s, const double *b, double *x) {
  rf_dense_cholesky_solve_rt(s->simd, s->n, self(s)->mass_factor, (int32_t)s->ld, b, x);
  return RF_OK;
}

rf_status rf_system_dense_damp_rt(rf_system *s, const double *v, double *out) {
  rf_dense_multiply_rt(s->simd, s->n, self(s)->damping, (int32_t)s->ld, v, out);
  return RF_OK;
}

rf_status rf_system_dense_damped_solve_rt(rf_system *base, double dt_s, const double *b,
                                          double *x) {
  rf_dense_system *s = self(base);
  const int32_t r = base->n, ld = (int32_t)base->ld;
  if (s->factor_s != dt_s) {
    rf_dense_combine_rt(base->simd, r, 1.0, s->mass, 0.5 * dt_s, s->damping, ld, s->factor);
    s->factor_s = rf_dense_cholesky_rt(base->simd, r, s->factor, ld) ? dt_s : 0.0;
    if (!(s->factor_s > 0.0)) return RF_ERR_SINGULAR;
  }
  rf_dense_cholesky_solve_rt(base->simd, r, s->factor, ld, b, x);
  return RF_OK;
}

rf_status rf_system_dense_multiply_rt(rf_system *s, const double *x, double *out) {
  rf_dense_multiply_rt(s->simd, s->n, self(s)->stiffness, (int32_t)s->ld, x, out);
  return RF_OK;
}

double rf_system_dense_rounding_rt(const rf_system *s, const double *x) {
  const double *stiffness = view(s)->stiffness;
  double sum = 0.0;
  for (int32_t i = 0; i < s->n; ++i) {
    double row = 0.0;
    for (int32_t j = 0; j < s->n; ++j) row += fabs(stiffness[i * s->ld + j] * x[j]);
    sum += row * row;
  }
  return DBL_EPSILON * sqrt(sum);
}

double rf_system_dense_stiffness_per_mass_rt(const rf_system *s) {
  double above = 0.0, below = 0.0;
  for (int32_t i = 0; i < s->n; ++i) {
    above += fabs(view(s)->stiffness[i * s->ld + i]);
    below += view(s)->mass[i * s->ld + i];
  }
  return above / below;
}

rf_system_dense rf_system_dense_matrices_rt(const rf_system *base) {
  const rf_dense_system *s = view(base);
  const bool explicit_steps = base->explicit_steps;
  return (rf_system_dense){.mass = s->mass,
                           .stiffness = s->stiffness,
                           .factor = explicit_steps ? NULL : s->factor,
                           .mass_factor = explicit_steps ? s->mass_factor : NULL};
}
