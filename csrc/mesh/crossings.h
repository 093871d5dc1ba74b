// Self-intersections of a triangle surface.
//
// Two triangles meet if they share a point that is not on a corner or a side of both: they cross,
// touch or overlap in a plane.  They cross if interior points of both lie on one line and neither
// lies in the plane of the other: there the surface passes through itself.  Coincident vertices
// count as one; triangles without area (mesh/closest.h) are skipped, as their neighbours touch the
// same triangles.
//
// The results are exact for the given coordinates: triangles close to one another in a tree of
// boxes are separated by planes in floating point or, if rounding leaves that undecided, by exact
// orientations (linalg/orient.h). There is no tolerance: the smallest gap counts, so results do not
// depend on the scale or on the order of corners or triangles.  (Coordinates below 2^-250 of the
// largest count as 0; surfaces less than 1e-70 m or more than 1e70 m long are rejected, as normals
// would under- or overflow.)
#ifndef RF_MESH_CROSSINGS_H
#define RF_MESH_CROSSINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/closest.h"

typedef struct rf_crossings {
  int64_t n;
  int32_t *pair;  // triangles that meet, the lower first, sorted   (n, 2)
} rf_crossings;

// Finds all pairs that meet; closest: queries on the same surface.
RF_MUST_CHECK rf_status rf_crossings_find(const rf_surface *surface, const rf_closest *closest,
                                          const rf_run *run, rf_crossings *out, rf_error *err);
void rf_crossings_free(rf_crossings *c);  // a zeroed struct is allowed

// Determines if any triangles meet and if any cross; stops as soon as both are known.
RF_MUST_CHECK rf_status rf_crossings_any(const rf_surface *surface, const rf_closest *closest,
                                         const rf_run *run, bool *meet, bool *cross, rf_error *err);

// Determines if the surface bounds one solid: closed, connected, without self-intersections, each
// edge shared by two triangles, no triangle without area.  Then the side of the nearest triangle
// decides if a point is inside.
RF_MUST_CHECK rf_status rf_crossings_bound_solid(const rf_surface *surface,
                                                 const rf_closest *closest, const rf_run *run,
                                                 bool *out, rf_error *err);

// For tests of single pairs: scaled corners in the order of the tree, (n_triangles, 3, 3), to be
// freed by rf_free; and a test if two triangles with area, given by their positions in that order,
// meet.
RF_MUST_CHECK rf_status rf_crossings_corners(const rf_surface *surface, const rf_closest *closest,
                                             double **corners, rf_error *err);
bool rf_crossings_meet(const rf_closest *closest, const double *corners, int32_t a, int32_t b);

#endif
