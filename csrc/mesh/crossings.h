// Self-intersections of a triangle surface.
//
// Two triangles meet where they have a place in common that is not on a corner or a side of both:
// they cross, touch, or lie on each other.  They cross where places inside of both are on one line
// and neither lies in the plane of the other: there the surface goes through itself.  Vertices at
// the same place count as one; triangles without area (mesh/closest.h) are left out, as what they
// touch is touched by their neighbours.
//
// The answers are exact for the coordinates as given: triangles near one another in a tree of boxes
// are separated by planes in floating point and, where rounding leaves that undecided, by exact
// orientations (linalg/orient.h).  There is no tolerance: a gap of the last digit is a gap, so the
// answer does not depend on the order of corners or triangles, nor on the scale.
// (Coordinates below 2^-250 of the largest count as 0; surfaces less than 1e-70 m long or more than
// 1e70 m, whose triangles have no normals, are refused.)
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

// All pairs; closest: of the surface.
RF_MUST_CHECK rf_status rf_crossings_find(const rf_surface *surface, const rf_closest *closest,
                                          const rf_run *run, rf_crossings *out, rf_error *err);
void rf_crossings_free(rf_crossings *c);  // zeroed is fine

// Tells if any triangles meet and if any of them cross; stops at the first that do.
RF_MUST_CHECK rf_status rf_crossings_any(const rf_surface *surface, const rf_closest *closest,
                                         const rf_run *run, bool *meet, bool *cross, rf_error *err);

// Tells if the surface bounds one solid: closed, in one piece, without self-intersections, each
// edge shared by two triangles, no triangle without area.  The side of the nearest triangle then
// decides if a place is inside.
RF_MUST_CHECK rf_status rf_crossings_bound_solid(const rf_surface *surface,
                                                 const rf_closest *closest, const rf_run *run,
                                                 bool *out, rf_error *err);

// For questions about single pairs: corners, scaled, in the order of the tree, (n_triangles, 3, 3),
// to be freed by rf_free; and whether two triangles with area, given by their places in that order,
// meet.
RF_MUST_CHECK rf_status rf_crossings_corners(const rf_surface *surface, const rf_closest *closest,
                                             double **corners, rf_error *err);
bool rf_crossings_meet(const rf_closest *closest, const double *corners, int32_t a, int32_t b);

#endif
