// Thinning of samples until they keep a distance from each other (B07 2.8.2).
//
// Greedy: of all samples closer than `distance` to another one, that goes first where the
// samples lie densest (of equals the later one), until there are none.  The density of
// sample i is
//
//   sum over the others j left of (1 - t^2)^2,  t = |x_i - x_j| / (2 distance) < 1
//
// with each term rounded to a multiple of 2^-31.
//
// A sample that went because of another which went later comes back, in order, where
// nothing is left close to it.  So in the end those kept are at least `distance` apart and
// each one dropped is closer than `distance` to one that is kept.
#ifndef RF_BASIS_THIN_H
#define RF_BASIS_THIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "modes/modes.h"  // and through it the solid

// points (count, dim), finite, in the Euclidean metric; keep (count) out.  distance 0 keeps all.
RF_MUST_CHECK rf_status rf_thin(const rf_run *run, int32_t count, int64_t dim, const double *points,
                                double distance, bool *keep, rf_error *err);

// Thins deformations (count, n_nodes, 3) in the metric of the mass, kg^1/2 m: the root of B07 2.40.
// Fixed nodes do not count.
RF_MUST_CHECK rf_status rf_thin_shapes(const rf_solid *solid, const rf_run *run, int32_t count,
                                       const double *shapes, double distance, bool *keep,
                                       rf_error *err);

#endif
