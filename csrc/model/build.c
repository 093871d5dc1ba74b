#include "base/alloc.h"
#include "fem/fem.h"
#include "linalg/blas.h"
#include "mesh/mesh.h"
#include "model/mass.h"
#include "model/reduced_model.h"

rf_status rf_reduced_mass(const rf_solid *solid, const rf_run *run, int32_t r, const double *basis,
                          double *mass, rf_error *err) {
  rf_status st = RF_OK;
  double *product = NULL;
  const int dofs = 3 * solid->mesh->n_nodes;
  RF_ALLOC(product, (int64_t)r * dofs);
  RF_TRY(rf_solid_mass_multiply(solid, run, r, basis, product, err));
  const double one = 1.0, zero = 0.0;
  rf_blas_serial_begin();
  dgemm_("T", "N", &r, &r, &dofs, &one, basis, &dofs, product, &dofs, &zero, mass, &r);
  rf_blas_serial_end();
  for (int32_t i = 0; i < r; ++i)
    for (int32_t j = 0; j < i; ++j) {
      const double mean = 0.5 * (mass[i * r + j] + mass[j * r + i]);
      mass[i * r + j] = mass[j * r + i] = mean;
    }
done:
  rf_free(product);
  return st;
}

rf_status rf_reduced_build(const rf_solid *solid, const rf_run *run, int32_t r, const double *basis,
                           const double *blocks, rf_simd simd, rf_reduced **out, rf_error *err) {
  rf_status st = RF_OK;
  double *mass = NULL, *coefficient = NULL;
  *out = NULL;
  if (!(r >= 1 && r <= RF_POLYNOMIAL_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_POLYNOMIAL_MAX_R, r);
  RF_TRY(rf_solid_require_quadratic(solid, "a reduced model", err));
  RF_ALLOC(mass, r * r);
  RF_ALLOC(coefficient, rf_polynomial_count(r));
  RF_TRY(rf_reduced_mass(solid, run, r, basis, mass, err));
  // check before the long work: dependent vectors are a common mistake
  RF_TRY(rf_reduced_check_mass(r, mass, err));
  RF_TRY(rf_polynomial_build(solid, run, r, basis, blocks, simd, coefficient, err));
  RF_TRY(rf_reduced_create(r, solid->mesh->n_nodes, solid->mesh->nodes, basis, mass, coefficient,
                           simd, out, err));
done:
  rf_free(mass);
  rf_free(coefficient);
  return st;
}
