// Parameters that laws share, and their checks.
#include <math.h>

#include "material/law.h"

static const double ASYMMETRY = 1e-9;    // of an elasticity matrix, relative to its largest entry
static const double INDEFINITE = 1e-14;  // smaller pivots of it count as rounding

const rf_law_parameter rf_law_lame_parameters[] = {{"lambda", 1}, {"mu", 1}, {0}};

rf_status rf_law_check_lame(const double *p, int32_t material, rf_error *err) {
  const double lambda = p[0], mu = p[1];
  // mu > 0 and a positive bulk modulus: -1 < nu < 1/2
  if (!(isfinite(lambda) && isfinite(mu) && mu > 0.0 && 3.0 * lambda + 2.0 * mu > 0.0))
    return rf_fail(err, RF_ERR_ARG,
                   "material %d: lambda = %g, mu = %g; mu and 3 lambda + 2 mu must be positive",
                   material, lambda, mu);
  return RF_OK;
}

rf_status rf_law_check_stiffness(const double *C, int32_t material, rf_error *err) {
  double L[36] = {0}, largest = 0.0;
  for (int k = 0; k < 36; ++k) largest = fmax(largest, fabs(C[k]));
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j <= i; ++j) {
      if (!(isfinite(C[6 * i + j]) && fabs(C[6 * i + j] - C[6 * j + i]) <= ASYMMETRY * largest))
        return rf_fail(err, RF_ERR_ARG,
                       "material %d: stiffness[%d, %d] is %g and [%d, %d] is %g; the matrix must "
                       "be finite and symmetric",
                       material, i, j, C[6 * i + j], j, i, C[6 * j + i]);
      double sum = C[6 * i + j];
      for (int k = 0; k < j; ++k) sum -= L[6 * i + k] * L[6 * j + k];
      if (i > j) {
        L[6 * i + j] = sum / L[6 * j + j];
      } else if (sum > INDEFINITE * largest) {
        L[6 * i + i] = sqrt(sum);
      } else {
        return rf_fail(err, RF_ERR_ARG,
                       "material %d: the stiffness matrix is not positive definite (seen at row "
                       "%d), so some strain would have a negative energy",
                       material, i);
      }
    }
  }
  return RF_OK;
}
