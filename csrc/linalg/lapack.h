// Sizes of LAPACK workspaces.
//
// A routine called with lwork = -1 returns its workspace size in a double.  It computes that size
// in 32 bits: for large problems it wraps around, at worst to a small positive number.  So the
// documented minimum is computed here in 64 bits.
#ifndef RF_LINALG_LAPACK_H
#define RF_LINALG_LAPACK_H

#include <limits.h>
#include <stdint.h>

#include "base/status.h"

// Return the documented minimum of the workspaces; for dgesdd with jobz "S", k is the smaller side.
static inline int64_t rf_lapack_least_dsyevd(int64_t n) { return 1 + 6 * n + 2 * n * n; }
static inline int64_t rf_lapack_least_dgesdd(int64_t k) { return 4 * k * k + 7 * k; }

// Evaluates a size query that answered `info` and `best`. RF_ERR_ARG: too many `things` (a plural).
RF_MUST_CHECK static inline rf_status rf_lapack_size(const char *routine, const char *things,
                                                     int64_t least, int info, double best,
                                                     int *size, rf_error *err) {
  if (!(least <= INT_MAX && best <= INT_MAX))
    return rf_fail(err, RF_ERR_ARG,
                   "too many %s: LAPACK %s would need a workspace of %lld numbers and can have %d",
                   things, routine, (long long)least, INT_MAX);
  if (info != 0 || !(best >= 1.0))
    return rf_fail(err, RF_ERR_INTERNAL,
                   "LAPACK %s did not report its workspace (code %d, size %g)", routine, info,
                   best);
  *size = best > (double)least ? (int)best : (int)least;
  return RF_OK;
}

#endif
