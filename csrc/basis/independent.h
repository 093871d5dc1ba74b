// Selects deformations that are linearly independent of the previous ones.
#ifndef RF_BASIS_INDEPENDENT_H
#define RF_BASIS_INDEPENDENT_H

#include "basis/basis.h"

// Computes residual (count): for each deformation (count, n_nodes, 3), scaled to unit mass norm,
// the norm of its part M-orthogonal to those kept before; it is kept if that exceeds `tolerance`. 0
// for a zero deformation.  Fixed nodes are ignored.
RF_MUST_CHECK rf_status rf_basis_independent(const rf_solid *solid, const rf_run *run,
                                             int32_t count, const double *vectors, double tolerance,
                                             double *residual, rf_error *err);

#endif
