// Thins samples until they keep a minimum distance from each other (B07 2.8.2).
//
// Greedy: of all samples closer than `distance` to another one, the one with the highest density is
// removed (among equals the last), until none is left.  The density of sample i is
//
//   sum over the other remaining j of (1 - t^2)^2, t = |x_i - x_j| / (2 distance) < 1
//
// with each term rounded to a multiple of 2^-31.
//
// Finally, in order, samples without a kept one closer than `distance` are restored: a sample may
// have been removed because of one that was removed later.  So the kept samples are at least
// `distance` apart, and each removed one is closer than `distance` to a kept one.
#ifndef RF_BASIS_THIN_H
#define RF_BASIS_THIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "modes/modes.h"  // and through it the solid

// Sets keep (count) for points (count, dim), finite, in the Euclidean metric.  distance 0 keeps
// all.
RF_MUST_CHECK rf_status rf_thin(const rf_run *run, int32_t count, int64_t dim, const double *points,
                                double distance, bool *keep, rf_error *err);

// Thins deformations (count, n_nodes, 3) in the mass metric, kg^1/2 m: the root of B07 2.40. Fixed
// nodes are ignored.
RF_MUST_CHECK rf_status rf_thin_shapes(const rf_solid *solid, const rf_run *run, int32_t count,
                                       const double *shapes, double distance, bool *keep,
                                       rf_error *err);

#endif
