#include "dynamics/system_dense.h"

#include <string.h>

#include "linalg/dense_rt.h"

void rf_system_dense_layout(rf_dense_system *s, int32_t r, rf_system_steps steps, bool damping,
                            rf_arena *a) {
  const bool implicit = steps == RF_STEPS_IMPLICIT, factored = implicit || damping;
  const size_t ld = (size_t)rf_dense_ld(r), square = ld * ld;
  s->mass = rf_arena_take(a, square, sizeof(double));
  s->stiffness = rf_arena_take(a, square, sizeof(double));
  s->factor = rf_arena_take(a, factored ? square : 0, sizeof(double));
  s->mass_factor = rf_arena_take(a, implicit ? 0 : square, sizeof(double));
  s->damping = rf_arena_take(a, damping ? square : 0, sizeof(double));
  s->product = rf_arena_take(a, ld, sizeof(double));
}

bool rf_system_dense_inside(const rf_system_damping *damping) {
  return damping->inside_s > 0.0 &&
         (damping->stiffness > 0.0 || damping->strain_rate || damping->viscosity);
}

void rf_system_dense_take_inside(rf_dense_system *s, const rf_system_damping *damping) {
  const int64_t n = (int64_t)s->base.n * s->base.ld;
  for (int64_t i = 0; i < n; ++i)
    s->damping[i] += damping->mass * s->mass[i] + damping->stiffness * s->stiffness[i];
  s->base.damping_mass = s->base.damping_stiff = 0.0;
  s->base.own_damping = false;
  s->base.inside = true;
}

rf_status rf_system_dense_set_mass(rf_dense_system *s, const double *mass, rf_error *err) {
  const int32_t r = s->base.n, ld = (int32_t)s->base.ld;
  for (int64_t i = 0; i < r; ++i)
    memcpy(s->mass + i * ld, mass + i * r, (size_t)r * sizeof(double));
  if (!s->base.explicit_steps) return RF_OK;
  memcpy(s->mass_factor, s->mass, (size_t)ld * (size_t)ld * sizeof(double));
  if (rf_dense_cholesky_rt(s->base.simd, r, s->mass_factor, ld)) return RF_OK;
  return rf_fail(err, RF_ERR_SINGULAR, "reduced mass matrix is not positive definite");
}
