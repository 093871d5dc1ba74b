// Boundary of the union of overlapping closed parts of a surface.
//
// Walls of a part inside another one are not on the boundary.  A triangle that no other crosses or
// touches is wholly on the boundary or wholly hidden, by the winding numbers on its two sides.
// Other triangles are halved until they are free of crossings or shorter than `size`; the latter
// are kept if one of four points is on the boundary.  The result is within `size` of the boundary,
// and complete except for such slivers.
//
// Walls closer than `gap` count as one.  Triangles that share a corner are tested exactly
// (mesh/crossings.h), without `gap`.
#ifndef RF_SDF_BUILD_UNION_H
#define RF_SDF_BUILD_UNION_H

#include <stdbool.h>

#include "base/status.h"
#include "mesh/closest.h"

typedef struct rf_union_boundary {
  int32_t n_triangles, n_hidden;  // remaining; of the surface, dropped wholly or in part
  double *vertices;               // three per triangle, m         (3 n_triangles, 3)
  int32_t *triangles;             //                       (n_triangles, 3)
} rf_union_boundary;

// Determines if a surface has several components that share no vertex.
RF_MUST_CHECK rf_status rf_union_has_parts(const rf_surface *surface, const rf_closest *closest,
                                           bool *out, rf_error *err);

// Creates the boundary of a closed surface.  closest: of that surface; room: limit of remaining
// triangles.
RF_MUST_CHECK rf_status rf_union_boundary_create(const rf_surface *surface,
                                                 const rf_closest *closest, double size, double gap,
                                                 int64_t room, const rf_run *run,
                                                 rf_union_boundary *out, rf_error *err);
void rf_union_boundary_free(rf_union_boundary *b);  // a zeroed struct is allowed

#endif
