// Nearest positive semidefinite matrices.
#ifndef RF_LINALG_SEMIDEFINITE_H
#define RF_LINALG_SEMIDEFINITE_H

#include <stdint.h>

#include "base/status.h"

// Replaces a symmetric matrix A (n, n) by the nearest positive semidefinite one in the Frobenius
// norm: negative eigenvalues become zero.  A matrix without any keeps its bits, as does one that is
// not finite.
RF_MUST_CHECK rf_status rf_semidefinite(int32_t n, double *a, rf_error *err);

#endif
