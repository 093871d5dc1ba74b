#include "dynamics/system_reduced.h"

static rf_status evaluate_rt(rf_system *base, const double *x, bool tangent, double *energy,
                             double *force) {
  const rf_reduced_system *s = (rf_reduced_system *)base;
  const rf_dense_system *d = &s->dense;
  rf_reduced_evaluate_rt(s->model, x, s->energy_work, energy, force,
                         tangent || base->damping_stiff > 0.0 ? d->stiffness : NULL,
                         (int32_t)base->ld);
  if (s->strain_rate)
    rf_damping_matrix_rt(s->strain_rate, x, s->strain_rate_work, d->damping, (int32_t)base->ld);
  return RF_OK;
}

static double farthest_rt(const rf_system *base, const double *x) {
  return rf_reduced_farthest_rt(((const rf_reduced_system *)base)->model, x);
}

static rf_status make_definite_rt(rf_system *base, const double *x) {
  const rf_reduced_system *s = (rf_reduced_system *)base;
  rf_reduced_evaluate_as_rt(s->model, true, x, s->energy_work, NULL, NULL, s->dense.stiffness,
                            (int32_t)base->ld);
  return RF_OK;
}

// A few points per step, so that a step costs little more; large strains outlast a round of all.
enum { MEASURED = 8 };
static double strain_rt(rf_system *base, const double *x) {
  rf_reduced_system *s = (rf_reduced_system *)base;
  const rf_cubature *c = s->model->cubature;
  const int32_t count = c->n_points < MEASURED ? c->n_points : MEASURED, first = s->measured;
  s->measured = (int32_t)(((int64_t)first + count) % c->n_points);
  return rf_cubature_strain_rt(c, x, first, count);
}

const rf_system_operations rf_system_reduced_rt = {
    .evaluate = evaluate_rt, .farthest = farthest_rt, RF_SYSTEM_DENSE_OPERATIONS};
const rf_system_operations rf_system_cubature_rt = {.evaluate = evaluate_rt,
                                                    .make_definite = make_definite_rt,
                                                    .farthest = farthest_rt,
                                                    .strain = strain_rt,
                                                    RF_SYSTEM_DENSE_OPERATIONS};
