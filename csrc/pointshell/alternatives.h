// Surface points found without repulsion, for comparison (B07 3.8.2).
//
// Voxels: the centres of the voxels that the surface touches, as in the Voxmap-PointShell method.
// Depth cube: the intersections of three bundles of parallel rays, one along each axis, with the
// surface; a ray through an edge or a vertex is displaced infinitesimally, in the same way for all
// triangles there, so that it enters and leaves a closed surface equally often.
//
// Normals are the negative pseudonormals of the nearest features: inward, for closed surfaces of
// either orientation.
#ifndef RF_POINTSHELL_ALTERNATIVES_H
#define RF_POINTSHELL_ALTERNATIVES_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

typedef struct rf_shell_points {
  int32_t n;
  double *points;   // m                       (n, 3)
  double *normals;  // unit length, inwards    (n, 3)
} rf_shell_points;

void rf_shell_points_free(rf_shell_points *s);  // a zeroed struct is allowed

// Creates points from voxels; settings as in rf_voxelize.
RF_MUST_CHECK rf_status rf_shell_from_voxels(const rf_surface *surface, int32_t resolution,
                                             double expand, const rf_run *run, rf_shell_points *out,
                                             rf_error *err);

enum { RF_DEPTH_CUBE_MAX_RESOLUTION = 1 << 14 };

// Creates points from rays, `resolution` of them along the longest side of the surface's box.
// RF_ERR_ARG when no ray meets the surface.
RF_MUST_CHECK rf_status rf_shell_from_depth_cube(const rf_surface *surface, int32_t resolution,
                                                 const rf_run *run, rf_shell_points *out,
                                                 rf_error *err);

// Computes unit inward normals of the surface features nearest to points (n, 3).
RF_MUST_CHECK rf_status rf_shell_normals(const rf_surface *surface, int32_t n, const double *points,
                                         const rf_run *run, double *normals, rf_error *err);

#endif
