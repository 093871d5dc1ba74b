// Thickness of a body at the triangles of its surface.
//
// From the middle of each triangle a ray goes straight in, to where it first leaves the body: where
// it crosses a triangle outward with a winding number of 1/2 or less behind it (mesh/winding.h).
// Inner walls and overlapping parts therefore do not end it.
#ifndef RF_MESH_THICKNESS_H
#define RF_MESH_THICKNESS_H

#include "base/status.h"
#include "mesh/surface.h"

// Computes the thickness of the triangles `of`, m (n); NULL: of all, n = n_triangles.  It is 0 for
// triangles with nothing behind them (single sheets, and those without area), INFINITY for those
// wholly inside and where the ray leaves through a hole.  The surface must have passed
// rf_surface_check; its parts are first turned to face outward.
RF_MUST_CHECK rf_status rf_surface_thickness(const rf_surface *surface, int64_t n,
                                             const int32_t *of, const rf_run *run,
                                             double *thickness, rf_error *err);

#endif
