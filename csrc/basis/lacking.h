// Static compliance that a basis lacks: the part of the work of a load at rest that its span leaves
// out,
//
//   lacking = 1 - (U^T f)^T (U^T K U)^-1 (U^T f) / (f^T u),  K u = f
//
// By the Rayleigh-Ritz principle it lies between 0, u is in the span, and 1, the basis does not
// yield.  With K u = f, U^T f = (K U)^T u, which for free solids has inertia relief in it: u is
// M-orthogonal to rigid motions, which carry the resultant of f, and rigid parts of U do not count.
#ifndef RF_BASIS_LACKING_H
#define RF_BASIS_LACKING_H

#include "basis/basis.h"

// Computes lacking (count), and the works f^T u, J (count), for vectors (r, n_nodes, 3) and loads
// (count, n_nodes, 3), N.
// RF_ERR_ARG: a load does no work, as it is zero, acts on fixed nodes alone, or accelerates a free
// solid without deforming it.  RF_ERR_SINGULAR: the vectors are linearly dependent, or rigid
// motions.
RF_MUST_CHECK rf_status rf_basis_lacking(const rf_solid *solid, const rf_run *run, int32_t r,
                                         const double *vectors, int32_t count, const double *loads,
                                         double *lacking, double *works, rf_error *err);

#endif
