// Voxels that a surface touches or encloses, as a mesh of equal cubes (B07 2.5.2).
//
// The grid is a cube of resolution^3 voxels around the centre of the surface's bounding box; its
// side is `expand` times the longest side of that box.  A voxel is taken if its closed box meets a
// triangle: the separating axis test with its 13 axes, enlarged by 1e-9 of a voxel so that rounding
// never loses a voxel.  A connected surface therefore gives voxels connected through faces.  `fill`
// adds every other voxel whose centre is inside the surface (mesh/inside.h).
//
// Elements and nodes are ordered by z, then y, then x.
#ifndef RF_MESH_VOXELIZE_H
#define RF_MESH_VOXELIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/inside.h"
#include "mesh/mesh.h"
#include "mesh/surface.h"

// The bits of the grid alone take 1 GiB at this resolution.
enum { RF_VOXEL_MAX_RESOLUTION = 2048 };

typedef struct rf_voxel_settings {
  int32_t resolution;  // voxels along each side of the grid
  double expand;       // side of the grid over longest side of the surface, 1 or more
  bool fill;
} rf_voxel_settings;

typedef struct rf_voxel_report {
  int64_t n_touched;   // voxels that meet the surface
  int64_t n_enclosed;  // other voxels inside
  int64_t n_doubtful;  // of voxels off the surface, those with RF_INSIDE_LOW < w < RF_INSIDE_HIGH
  double sheets;       // share of the surface's area that encloses nothing
} rf_voxel_report;

// Creates the mesh.  report: nullable; zero without `fill`.
RF_MUST_CHECK rf_status rf_voxelize(const rf_surface *surface, const rf_voxel_settings *set,
                                    const rf_run *run, rf_mesh **out, rf_voxel_report *report,
                                    rf_error *err);

// The same voxels as a bitmap.
typedef struct rf_voxel_grid {
  int32_t n;         // voxels along a side
  size_t words;      // 64-bit words of a row of voxels along x
  double centre[3];  // m
  double h;          // edge of a voxel, m
  uint64_t last;     // valid bits of a row's last word
  uint64_t *solid;   // bit x of row (z n + y)       (n n words)
} rf_voxel_grid;

// Finds the voxels that the surface meets; ignores `fill`.
RF_MUST_CHECK rf_status rf_voxel_grid_create(const rf_surface *surface,
                                             const rf_voxel_settings *set, const rf_run *run,
                                             rf_voxel_grid *out, rf_error *err);
// Adds the other voxels inside the surface.
RF_MUST_CHECK rf_status rf_voxel_grid_enclose(const rf_voxel_grid *grid, const rf_inside *inside,
                                              const rf_run *run, rf_voxel_report *report,
                                              rf_error *err);
// Adds the other voxels that cannot be reached from the grid's border through faces.
RF_MUST_CHECK rf_status rf_voxel_grid_fill(const rf_voxel_grid *grid, const rf_run *run,
                                           rf_error *err);
void rf_voxel_grid_free(rf_voxel_grid *grid);

#endif
