// Convention that makes vectors of eigenvalues and singular values unique.
//
//  - values whose relative gap is below RF_CLUSTER_GAP are one value.  Inside its space the
//    vectors diagonalise the first diagonal weighting, ascending; where its values coincide
//    too, the next weighting decides.  Callers that truncate a sequence first complete the cluster
//    at the cut (rf_cluster_end), so that the vectors kept do not depend on how the space was
//    found.
//  - the entry of largest magnitude is positive; of entries equal to RF_SIGN_TIE the first counts.
#ifndef RF_LINALG_CONVENTION_H
#define RF_LINALG_CONVENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

// far above what rounding does to a repeated value, far below gaps that mean something
#define RF_CLUSTER_GAP 1e-6
// entries equal by symmetry differ by the error of the vectors, which is far below
#define RF_SIGN_TIE 1e-6
// most vectors that complete a value at the cut: more belong to many identical parts
enum { RF_CLUSTER_CUT = 16 };

bool rf_same_cluster(double a, double b);

// End of the cluster of value `last` among `count` monotonic values, at most `most` of them
// further: the first index that does not belong to it.
int32_t rf_cluster_end(int32_t count, const double *values, int32_t last, int32_t most);

// The convention for vectors (k, n), orthonormal in some metric: `values` (k) is what gaps
// are relative to, monotonic along the vectors (eigenvalues minus shift, singular values).
RF_MUST_CHECK rf_status rf_canonical_vectors(int32_t n, int32_t k, const double *values,
                                             int32_t n_weights, const double *const *weights,
                                             double *vectors, rf_error *err);

#endif
