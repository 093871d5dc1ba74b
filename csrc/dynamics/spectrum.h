// Frequencies of systems, and the steps for which central differences (central.h) are stable.
//
// With c = beta omega^2 + delta the damping rate of the highest mode, omega, a linear system is
// stable exactly for  h^2 omega^2 + 2 h c <= 4,  h <= 4 / (c + sqrt(c^2 + 4 omega^2)): undamped h
// <= 2 / omega.  (B07 2.9.1 has 2 pi / omega, a whole period, at which the scheme is far beyond its
// limit.)
#ifndef RF_DYNAMICS_SPECTRUM_H
#define RF_DYNAMICS_SPECTRUM_H

#include "base/status.h"
#include "fem/fem.h"
#include "model/projected.h"
#include "model/reduced_model.h"
#include "polynomial/damping.h"

// Eigenvalues of  K~(q) x = lambda M~ x, ascending (r); q NULL: rest.
RF_MUST_CHECK rf_status rf_spectrum_reduced(const rf_reduced *model, const double *q,
                                            double *values, rf_error *err);

// The stable step at q (NULL: rest) with stiffness and strain-rate damping (NULL: none), whose
// highest rate delta is added to c, as if it were that of the same mode: on the safe side.
RF_MUST_CHECK rf_status rf_stable_step_reduced(const rf_reduced *model, const double *q,
                                               double damping_stiff, const rf_damping *strain_rate,
                                               double *step, rf_error *err);

// The stable step at u (NULL: rest) likewise.  With the lumped mass it uses
// rf_solid_highest_bound, a guarantee for the linear system there; with the consistent mass it uses
// rf_solid_highest plus 2 % for the error of that estimate.
RF_MUST_CHECK rf_status rf_stable_step_solid(const rf_solid *solid, const rf_run *run,
                                             const double *u, double damping_stiff,
                                             const double *viscosity, double *step, rf_error *err);
RF_MUST_CHECK rf_status rf_stable_step_projected(const rf_projected *model, const rf_run *run,
                                                 const double *q, double damping_stiff,
                                                 const double *viscosity, double *step,
                                                 rf_error *err);
// Of constant matrices, lower triangles; of stiffness damping only.
RF_MUST_CHECK rf_status rf_stable_step_matrices(const rf_csc *mass, const rf_csc *stiffness,
                                                const rf_run *run, double damping_stiff,
                                                double *step, rf_error *err);

#endif
