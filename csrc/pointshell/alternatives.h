// Points of surfaces found in other ways than by repulsion, to compare with (B07 3.8.2).
//
// Voxels: the centres of the voxels that the surface touches, as the Voxmap-PointShell method
// takes them.  Depth cube: where three bundles of parallel rays, one along each axis, meet the
// surface; a ray through an edge or a vertex is moved aside infinitely little, the same way for
// all triangles there, so that it enters and leaves a closed surface equally often.
//
// Normals are minus the pseudonormals of the features next to the points, inwards for closed
// surfaces whichever way these face.
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

void rf_shell_points_free(rf_shell_points *s);  // zeroed is fine

// Settings as of rf_voxelize.
RF_MUST_CHECK rf_status rf_shell_from_voxels(const rf_surface *surface, int32_t resolution,
                                             double expand, const rf_run *run, rf_shell_points *out,
                                             rf_error *err);

enum { RF_DEPTH_CUBE_MAX_RESOLUTION = 1 << 14 };

// `resolution` rays along the longest side of the box of the surface.  RF_ERR_ARG when none of
// them meets it.
RF_MUST_CHECK rf_status rf_shell_from_depth_cube(const rf_surface *surface, int32_t resolution,
                                                 const rf_run *run, rf_shell_points *out,
                                                 rf_error *err);

// Unit normals, inwards, of the features of a surface that are nearest to points (n, 3).
RF_MUST_CHECK rf_status rf_shell_normals(const rf_surface *surface, int32_t n, const double *points,
                                         const rf_run *run, double *normals, rf_error *err);

#endif
