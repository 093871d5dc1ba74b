// Thickness of a body at the triangles of its surface.
//
// From the middle of each triangle a ray goes straight in, to where it first leaves the body: where
// a triangle is crossed outward and the winding number behind it is 1/2 or less (mesh/winding.h).
// So walls within others, and parts that overlap, do not end it.
#ifndef RF_MESH_THICKNESS_H
#define RF_MESH_THICKNESS_H

#include "base/status.h"
#include "mesh/surface.h"

// thickness: m (n_triangles); 0 of triangles with nothing behind them (single sheets, and those
// without area), INFINITY of those wholly inside, and where the ray goes out through a hole.  The
// surface must have passed rf_surface_check; its parts are turned to face outward first.
RF_MUST_CHECK rf_status rf_surface_thickness(const rf_surface *surface, const rf_run *run,
                                             double *thickness, rf_error *err);

#endif
