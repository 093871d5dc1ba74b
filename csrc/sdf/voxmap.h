// Voxels of two bits around a surface: the environment of the Voxmap-PointShell method
// (McNeely, Puterbaugh, Troy 1999; B07 3.1), the baseline of contact on distance fields.
//
// The grid is that of mesh/voxelize.h.  A voxel is interior if it cannot be reached from the grid's
// border through faces of voxels without crossing a surface voxel; a surface with holes wider than
// a voxel has no interior.  Outside the grid everything is free.  Voxels are stored in a plain
// array, without the octree of the paper: 4 MB at a resolution of 256.
#ifndef RF_SDF_VOXMAP_H
#define RF_SDF_VOXMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

typedef enum rf_voxel {
  RF_VOXEL_FREE = 0,
  RF_VOXEL_INTERIOR = 1,
  RF_VOXEL_SURFACE = 2,   // meets a triangle
  RF_VOXEL_PROXIMITY = 3  // not interior, and one of its 26 neighbours is a surface voxel
} rf_voxel;

typedef struct rf_voxmap {
  int32_t n[3];      // voxels along x, y, z
  size_t words;      // 32-voxel words in a row of voxels along x
  double origin[3];  // low corner of the grid, m
  double edge;       // of a voxel, m
  uint64_t *bits;    // voxel x: from bit 2 (x % 32) of word x / 32 of row z n[1] + y
} rf_voxmap;

// Builds the map; resolution and expand as in rf_voxel_settings.
RF_MUST_CHECK rf_status rf_voxmap_build(const rf_surface *surface, int32_t resolution,
                                        double expand, const rf_run *run, rf_voxmap **out,
                                        rf_error *err);
// Creates a map from values of rf_voxel (nx, ny, nz), z fastest; rejects other values.
RF_MUST_CHECK rf_status rf_voxmap_create(const int32_t n[3], const double origin[3], double edge,
                                         const uint8_t *values, rf_voxmap **out, rf_error *err);
void rf_voxmap_free(rf_voxmap *map);  // NULL is allowed

// Copies all voxels (nx, ny, nz), z fastest.
void rf_voxmap_values(const rf_voxmap *map, uint8_t *values);

// Returns the voxel that contains p, on a common side the upper one; `centre`: its middle, m, set
// if the voxel is in the grid.
rf_voxel rf_voxmap_at_rt(const rf_voxmap *map, const double p[3], double centre[3]);

#endif
