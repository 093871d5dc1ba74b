// Bases of systems given by two matrices and a Hessian.
#include "base/run.h"
#include "basis/basis.h"
#include "basis/mass_pca.h"

rf_status rf_basis_system_pca(const rf_modes_system *system, const rf_csc *mass, const rf_run *run,
                              int32_t count, const double *weights, double *vectors, bool at_most,
                              int32_t *r, double *spectrum, rf_error *err) {
  const rf_eigen_problem *op = &system->operators;
  const rf_pca_space space = {mass, 1, NULL, op->n_weights, op->weights};
  if (!(count >= 1)) return rf_fail(err, RF_ERR_ARG, "vectors must hold at least one vector");
  if (mass->rows != op->n || mass->cols != op->n)
    return rf_fail(err, RF_ERR_ARG, "mass must be %d x %d, got %d x %d", (int)op->n, (int)op->n,
                   (int)mass->rows, (int)mass->cols);
  const rf_status st = rf_mass_pca_weigh(count, (size_t)op->n, weights, vectors, err);
  return st < 0 ? st : rf_mass_pca_of(&space, run, count, vectors, at_most, r, spectrum, err);
}

// Progress, in per cent, after each stage.
enum { AFTER_MODES = 30, AFTER_DERIVATIVES = 90, AFTER_ALL = 100 };

rf_status rf_basis_system_derivatives(const rf_modes_system *system, const rf_csc *mass,
                                      const rf_run *run, int32_t k, bool at_most, int32_t *r,
                                      double *eigenvalues, double *vectors, double *spectrum,
                                      rf_error *err) {
  const int64_t count = k + rf_modes_pairs(k);
  double *derivatives = vectors + (size_t)system->operators.n * (size_t)k;
  rf_run_part part = {run, 0, AFTER_MODES, AFTER_ALL};
  const rf_run inner = rf_run_of_part(&part);
  rf_status st = rf_modes_linear(system, &inner, k, eigenvalues, vectors, err);
  part = (rf_run_part){run, AFTER_MODES, AFTER_DERIVATIVES, AFTER_ALL};
  if (st >= 0) st = rf_modes_derivatives(system, &inner, k, vectors, derivatives, err);
  if (st >= 0) st = rf_basis_scale(system, &inner, k, eigenvalues, vectors, derivatives, err);
  part = (rf_run_part){run, AFTER_DERIVATIVES, AFTER_ALL, AFTER_ALL};
  if (st >= 0)
    st = rf_basis_system_pca(system, mass, &inner, (int32_t)count, NULL, vectors, at_most, r,
                             spectrum, err);
  return st;
}
