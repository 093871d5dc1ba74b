// Frequencies of systems, and the steps for which central differences (central.h) are stable.
//
// With c = beta omega^2 + delta the damping rate of the highest mode, omega, a linear system is
// stable exactly for  h^2 omega^2 + 2 h c <= 4,  h <= 4 / (c + sqrt(c^2 + 4 omega^2)): undamped h
// <= 2 / omega.  (B07 2.9.1 has 2 pi / omega, a whole period, at which the scheme is far beyond its
// limit.)
#ifndef RF_DYNAMICS_SPECTRUM_H
#define RF_DYNAMICS_SPECTRUM_H

#include "base/status.h"
#include "model/reduced_model.h"

// Eigenvalues of  K~(q) x = lambda M~ x, ascending (r); q NULL: rest.
RF_MUST_CHECK rf_status rf_spectrum_reduced(const rf_reduced *model, const double *q,
                                            double *values, rf_error *err);

// The stable step for the highest eigenvalue omega^2 and the largest damping rate c, 1/s; INFINITY
// when both are zero or less.
//
// Systems (system.h) add the highest rate delta of strain-rate damping to c, as if it were that of
// the same mode: on the safe side.  Solids with the lumped mass use rf_solid_highest_bound, a
// guarantee for the linear system there; with the consistent mass rf_solid_highest plus 2 % for the
// error of that estimate.  Matrices have stiffness damping only.
double rf_stable_step_of(double eigenvalue, double damping);

#endif
