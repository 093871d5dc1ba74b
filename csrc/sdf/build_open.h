// Inside of surfaces that are open, or bound no solid for other reasons: where the winding number
// exceeds 1/2 (mesh/inside.h).
//
// Holes are capped where the winding number is 1/2: by the iso-surface of the samples' winding
// numbers, without its part along the surface.  Its vertices within a voxel of the surface are
// moved onto it, so that the cap ends at the rims of holes.  Along a rim distances are off by up to
// a voxel.
#ifndef RF_SDF_BUILD_OPEN_H
#define RF_SDF_BUILD_OPEN_H

#include "base/status.h"
#include "mesh/closest.h"
#include "mesh/inside.h"
#include "sdf/field.h"
#include "sdf/isosurface.h"

typedef struct rf_open_signs {
  float *below;                  // 1/2 less the winding numbers, in the order of the grid's values
  int64_t n_inside, n_doubtful;  // samples; see rf_inside_doubts
} rf_open_signs;

// Finds the triangles (n, 3) of a surface that do not lie wholly inside it.
RF_MUST_CHECK rf_status rf_open_walls_find(const rf_inside *inside, const rf_surface *surface,
                                           const rf_run *run, int32_t *triangles, int32_t *n,
                                           rf_error *err);

// Computes the signs of a grid whose values are unsigned distances from the surface.
RF_MUST_CHECK rf_status rf_open_signs_find(const rf_inside *inside, const rf_grid *grid,
                                           const rf_run *run, rf_open_signs *out, rf_error *err);
void rf_open_signs_free(rf_open_signs *s);  // a zeroed struct is allowed

// Creates the cap for a grid with some samples inside; without triangles if none is needed.
RF_MUST_CHECK rf_status rf_open_cap_create(const rf_grid *grid, const rf_open_signs *signs,
                                           const rf_closest *surface, const rf_run *run,
                                           rf_isosurface *out, rf_error *err);

#endif
