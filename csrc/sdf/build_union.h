// The boundary of what a closed surface winds around.
//
// Where closed parts overlap, the walls inside the others are no boundary.  A triangle that no
// other crosses or touches is wholly on the boundary or wholly hidden, which the windings on both
// its sides tell.  Others are halved until they are met no more or shorter than `size`; of the
// latter those remain that are on the boundary at one of four places.  So what remains is within
// `size` of the boundary, and but for such slivers none of it is missing.
//
// Walls with less than `gap` between them count as one.  Triangles that share a corner meet as they
// do exactly (mesh/crossings.h): there, near is not met.
#ifndef RF_SDF_BUILD_UNION_H
#define RF_SDF_BUILD_UNION_H

#include <stdbool.h>

#include "base/status.h"
#include "mesh/closest.h"

typedef struct rf_union_boundary {
  int32_t n_triangles, n_hidden;  // what remains; of the surface, wholly or in part left out
  double *vertices;               // three for each, m     (3 n_triangles, 3)
  int32_t *triangles;             //                       (n_triangles, 3)
} rf_union_boundary;

// Tells if a surface has several pieces that share no vertex.
RF_MUST_CHECK rf_status rf_union_has_parts(const rf_surface *surface, const rf_closest *closest,
                                           bool *out, rf_error *err);

// closest: of the surface, which is closed; room: triangles that may remain.
RF_MUST_CHECK rf_status rf_union_boundary_create(const rf_surface *surface,
                                                 const rf_closest *closest, double size, double gap,
                                                 int64_t room, const rf_run *run,
                                                 rf_union_boundary *out, rf_error *err);
void rf_union_boundary_free(rf_union_boundary *b);  // zeroed is fine

#endif
