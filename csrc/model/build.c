#include "base/alloc.h"
#include "fem/fem.h"
#include "mesh/mesh.h"
#include "model/reduced_model.h"

rf_status rf_reduced_build(const rf_solid *solid, const rf_run *run, int32_t r, const double *basis,
                           rf_simd simd, rf_reduced **out, rf_error *err) {
  rf_status st = RF_OK;
  double *mass = NULL, *coefficient = NULL;
  *out = NULL;
  if (!(r >= 1 && r <= RF_POLYNOMIAL_MAX_R))
    return rf_fail(err, RF_ERR_ARG, "r must be between 1 and %d, got %d", RF_POLYNOMIAL_MAX_R, r);
  RF_ALLOC(mass, r * r);
  RF_ALLOC(coefficient, rf_polynomial_count(r));
  RF_TRY(rf_polynomial_mass(solid, run, r, basis, mass, err));
  // before the long work: dependent vectors are a common mistake
  RF_TRY(rf_reduced_check_mass(r, mass, err));
  RF_TRY(rf_polynomial_build(solid, run, r, basis, simd, coefficient, err));
  RF_TRY(rf_reduced_create(r, solid->mesh->n_nodes, basis, mass, coefficient, simd, out, err));
done:
  rf_free(mass);
  rf_free(coefficient);
  return st;
}
