// Reduced models of any material, with the energy by a cubature (cubature/cubature.h).
#ifndef RF_MODEL_SAMPLED_H
#define RF_MODEL_SAMPLED_H

#include "cubature/build.h"
#include "model/projected.h"
#include "model/reduced_model.h"

// Builds the model of a solid in the span of basis (r, n_nodes, 3).  Training weighs errors of
// forces in the norm of the energy, |K^(-1/2) f| with K at rest, in which modes of all frequencies
// count alike; so `metric` and `linear` of the settings are ignored.
RF_MUST_CHECK rf_status rf_reduced_build_sampled(const rf_solid *solid, const rf_run *run,
                                                 int32_t r, const double *basis,
                                                 const rf_cubature_settings *set, rf_simd simd,
                                                 rf_reduced **out, rf_cubature_report *report,
                                                 rf_error *err);

// Builds a rough model of a large mesh, by rf_cubature_spread.
RF_MUST_CHECK rf_status rf_reduced_build_spread(const rf_projected *model, const rf_run *run,
                                                int32_t points, rf_reduced **out, rf_error *err);

// Computes the modes of the reduced equations at rest: eigenvalues, ascending (r), and vectors,
// mass-orthonormal, one after the other (r, r).
RF_MUST_CHECK rf_status rf_projected_modes(const rf_projected *model, const rf_run *run,
                                           double *values, double *vectors, rf_error *err);

#endif
