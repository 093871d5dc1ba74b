#include "fem/mass_solve.h"

#include "base/alloc.h"

bool rf_solid_steps_lumped(const rf_solid *s) { return !s->mesh->rule; }

rf_status rf_solid_mass_init(rf_solid_mass *m, const rf_solid *solid, const rf_run *run,
                             bool lumped, rf_error *err) {
  rf_status st = RF_OK;
  rf_csc lower = {0};
  *m = (rf_solid_mass){.solid = solid};
  if (lumped || solid->n_free < 1) return RF_OK;
  RF_ALLOC(m->columns, 3 * (int64_t)solid->n_free);
  RF_TRY(rf_solid_free_mass(solid, &lower, err));
  RF_TRY(rf_solid_factor_create(solid, &lower, &m->factor, err));
  RF_TRY(rf_cholesky_factorize(m->factor, run, &lower, NULL, err));
done:
  rf_csc_free(&lower);
  if (st < 0) rf_solid_mass_release(m);
  return st;
}

void rf_solid_mass_release(rf_solid_mass *m) {
  rf_free(m->columns);
  rf_cholesky_free(m->factor);
  *m = (rf_solid_mass){0};
}

rf_status rf_solid_mass_solve(rf_solid_mass *m, const rf_run *run, const double *x, double *y,
                              rf_error *err) {
  const rf_solid *s = m->solid;
  const int32_t n = s->n_free;
  if (!m->factor) {
    for (int32_t k = 0; k < n; ++k)
      for (int c = 0; c < 3; ++c)
        y[3 * (int64_t)s->free[k] + c] = x[3 * (int64_t)s->free[k] + c] / s->lumped[s->free[k]];
    rf_constraints_fill_rt(s->mesh->constraints, y);
    return RF_OK;
  }
  for (int32_t k = 0; k < n; ++k)
    for (int c = 0; c < 3; ++c) m->columns[c * (int64_t)n + k] = x[3 * (int64_t)s->free[k] + c];
  const rf_status st = rf_cholesky_solve(m->factor, run, 3, m->columns, m->columns, err);
  if (st < 0) return st;
  for (int32_t k = 0; k < n; ++k)
    for (int c = 0; c < 3; ++c) y[3 * (int64_t)s->free[k] + c] = m->columns[c * (int64_t)n + k];
  rf_constraints_fill_rt(s->mesh->constraints, y);
  return RF_OK;
}
