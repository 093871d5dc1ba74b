// Computes the reduced mass M~ = U^T M U (r, r), bitwise symmetric, from a solid's consistent mass.
#ifndef RF_MODEL_MASS_H
#define RF_MODEL_MASS_H

#include <stdint.h>

#include "base/status.h"
#include "polynomial/polynomial.h"

RF_MUST_CHECK rf_status rf_reduced_mass(const rf_solid *solid, const rf_run *run, int32_t r,
                                        const double *basis, double *mass, rf_error *err);

#endif
