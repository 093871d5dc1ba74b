// Convention that makes eigenvectors and singular vectors unique.
//
//  - values whose relative gap is below RF_CLUSTER_GAP count as one value.  Inside its space the
//    vectors diagonalise the first diagonal weighting, ascending; where those values coincide too,
//    the next weighting decides.  Callers that truncate a sequence first complete the cluster at
//    the cut (rf_cluster_end), so that the kept vectors do not depend on how the space was found.
//  - the entry of largest magnitude is positive; among entries equal to RF_SIGN_TIE the first
//    counts.
#ifndef RF_LINALG_CONVENTION_H
#define RF_LINALG_CONVENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

// Far above the rounding of a repeated value, far below significant gaps.
#define RF_CLUSTER_GAP 1e-6
// Entries equal by symmetry differ by the error of the vectors, which is far below.
#define RF_SIGN_TIE 1e-6
// Most vectors added to complete a cluster at the cut: larger clusters come from many identical
// parts.
enum { RF_CLUSTER_CUT = 16 };

bool rf_same_cluster(double a, double b);

// Returns the end of the cluster of value `last` among `count` monotonic values: the first index
// outside it, at most last + 1 + `most`.
int32_t rf_cluster_end(int32_t count, const double *values, int32_t last, int32_t most);

// Applies the convention to vectors (k, n), orthonormal in some metric.  Gaps are relative to
// `values` (k), monotonic along the vectors (eigenvalues minus shift, singular values).
RF_MUST_CHECK rf_status rf_canonical_vectors(int32_t n, int32_t k, const double *values,
                                             int32_t n_weights, const double *const *weights,
                                             double *vectors, rf_error *err);

#endif
