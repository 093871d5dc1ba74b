// Signs of the distances in a grid: a check of those by pseudonormals, and signs by winding
// numbers.
#ifndef RF_SDF_BUILD_SIGNS_H
#define RF_SDF_BUILD_SIGNS_H

#include <stdbool.h>

#include "base/run.h"
#include "base/status.h"
#include "mesh/surface.h"
#include "sdf/grid.h"

// Determines if signs contradict each other.  whole: the surface lies inside the box, so its sides
// are outside the surface.
RF_MUST_CHECK rf_status rf_grid_signs_contradict(const rf_grid *g, bool whole, const rf_run *run,
                                                 bool *wrong, rf_error *err);

// Gives the samples where a closed surface winds around a negative sign, and all others a positive
// one.
//
// A plane x = constant through samples cuts the triangles of a closed surface in closed, directed
// polygons.  A row of samples in the plane crosses these, and each crossing changes the number of
// windings by one.  A vertex on the plane, or a corner on the row, counts as below it, and the cut
// of a side is computed from its ends in the same order for both its triangles: so every polygon
// closes, and every row ends with winding number zero.
RF_MUST_CHECK rf_status rf_grid_sign_by_windings(const rf_surface *s, rf_grid *g, const rf_run *run,
                                                 rf_error *err);

#endif
