// Friction with a k-sided pyramid in place of the cone, for comparison (D06 4.1).
//
// With the unit directions e_j of the sides, the tangential force is sum b_j e_j, b_j >= 0, and a
// multiplier l of the slip makes it a linear complementarity problem of m (k + 2) unknowns,
//     0 <= d_n _|_ f_n >= 0,   0 <= e_j . d_t + l _|_ b_j >= 0,   0 <= mu f_n - sum b_j _|_ l >= 0.
#ifndef RF_CONSTRAINT_PYRAMID_H
#define RF_CONSTRAINT_PYRAMID_H

#include <stdint.h>

#include "base/status.h"
#include "constraint/lemke.h"

enum { RF_PYRAMID_SIDES = 256, RF_PYRAMID_UNKNOWNS = 20000 };

// W (3m, 3m), free (3m), mu (m), force (3m) as in constraint/friction.h; zero if none was found.
RF_MUST_CHECK rf_status rf_pyramid_solve(int32_t m, int32_t sides, const double *w,
                                         const double *free, const double *mu, const rf_run *run,
                                         double *force, rf_lemke_report *report, rf_error *err);

#endif
