// Selects the deformations that are linearly independent of those before them.
#ifndef RF_BASIS_INDEPENDENT_H
#define RF_BASIS_INDEPENDENT_H

#include "basis/basis.h"

// residual (count): of each deformation (count, n_nodes, 3), scaled to unit mass norm, the norm of
// what is M-orthogonal to those kept before it; it is kept where that exceeds `tolerance`.
// 0 for a deformation that is zero.  Fixed nodes do not count.
RF_MUST_CHECK rf_status rf_basis_independent(const rf_solid *solid, const rf_run *run,
                                             int32_t count, const double *vectors, double tolerance,
                                             double *residual, rf_error *err);

#endif
