// Uniformity of points on a surface, and the area represented by each point.
//
// Only points on the same side of a thin part count as neighbours (RF_SAME_SIDE).
#ifndef RF_POINTSHELL_MEASURE_H
#define RF_POINTSHELL_MEASURE_H

#include <stdint.h>

#include "base/status.h"
#include "pointshell/level_set.h"
#include "pointshell/sample.h"

typedef struct rf_uniformity {
  double spacing;  // between neighbours in a hexagonal arrangement, m
  // distance to the nearest other point, in spacings; NaN for a single point
  double mean, deviation, least;
  double gap;  // largest distance from the surface to its nearest point, in spacings
} rf_uniformity;

// Measures n points (n, 3) with inward unit normals (n, 3); the surface faces outwards.  The gap is
// the maximum over `samples` positions on the surface or, if given, on the level set that the
// surface triangulates (samples 0: the gap is NaN).
RF_MUST_CHECK rf_status rf_shell_uniformity(const rf_sampler *sampler,
                                            const rf_level_set *level_set, int32_t n,
                                            const double *points, const double *normals,
                                            int64_t samples, const rf_run *run, rf_uniformity *out,
                                            rf_error *err);

// Estimates the area nearer to each point than to any other (B07 3.5), from `samples` samples per
// point; areas (n) sum to that of the surface.
RF_MUST_CHECK rf_status rf_shell_areas(const rf_sampler *sampler, int32_t n, const double *points,
                                       const double *normals, int32_t samples, uint64_t seed,
                                       const rf_run *run, double *areas, rf_error *err);

#endif
