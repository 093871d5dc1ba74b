// Voxels that a surface touches, and those it encloses, as a mesh of equal cubes
// (B07 2.5.2).
//
// The grid is a cube of resolution^3 voxels around the centre of the surface's
// bounding box, its side `expand` times the longest side of that box.  A voxel is
// taken when its closed box meets a triangle: the separating axis test with its 13
// axes, widened by 1e-9 of a voxel so that rounding never loses a voxel.  A
// connected surface therefore gives voxels connected through faces.  `fill` adds
// every voxel that cannot be reached from the grid's border through faces without
// crossing a taken one; a surface with holes larger than a voxel encloses nothing
// and that is no error.
//
// Elements and nodes are ordered by z, then y, then x.
#ifndef RF_MESH_VOXELIZE_H
#define RF_MESH_VOXELIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/run.h"
#include "base/status.h"
#include "mesh/mesh.h"
#include "mesh/surface.h"

// Bits of the grid alone are 1 GiB at this resolution.
enum { RF_VOXEL_MAX_RESOLUTION = 2048 };

typedef struct rf_voxel_settings {
  int32_t resolution;  // voxels along each side of the grid
  double expand;       // side of the grid over longest side of the surface, 1 or more
  bool fill;
} rf_voxel_settings;

RF_MUST_CHECK rf_status rf_voxelize(const rf_surface *surface, const rf_voxel_settings *set,
                                    const rf_run *run, rf_mesh **out, rf_error *err);

#endif
