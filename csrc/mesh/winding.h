// Generalized winding numbers of triangle surfaces of any kind (Jacobson, Kavan & Sorkine-Hornung
// 2013), by a hierarchy (Barill, Dickson, Schmidt, Levin & Jacobson 2018).
//
//   w(p) = 1 / (4 pi) sum over triangles of the solid angle under which p sees each
//
// is 1 inside and 0 outside of a closed surface that faces outward, n where n parts overlap, and
// between these numbers near holes.  Inside is w > 1/2.  The triangles of a box of the tree that is
// farther away than RF_WINDING_BETA of its radii count together, by the Taylor expansion of second
// order about their centroid; near ones count exactly (van Oosterom & Strackee 1983).
//
// On the surface itself w is that of either side, by rounding.
#ifndef RF_MESH_WINDING_H
#define RF_MESH_WINDING_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

#define RF_WINDING_BETA 2.4    // radii beyond which a cluster counts as one
#define RF_WINDING_ERROR 3e-3  // of w, at most, for each layer of surface, on those tried
#define RF_WINDING_INSIDE 0.5  // above: inside

typedef struct rf_winding rf_winding;

// Prepares winding numbers of the surface with its parts turned to face outward
// (mesh/orientation.h).  The surface is not needed afterwards.  run: polled for a stop.
RF_MUST_CHECK rf_status rf_winding_create(const rf_surface *surface, const rf_run *run,
                                          rf_winding **out, rf_error *err);

// The same of the triangles as they face, except those in `reversed` (n_triangles), NULL: none.
RF_MUST_CHECK rf_status rf_winding_create_reversed(const rf_surface *surface,
                                                   const uint8_t *reversed, const rf_run *run,
                                                   rf_winding **out, rf_error *err);
void rf_winding_free(rf_winding *w);  // NULL is fine

// w(p); 0 where p is not finite.  Any number of threads may ask at once.
double rf_winding_at(const rf_winding *w, const double p[3]);

// The mean of w on both sides of a triangle of a surface, at a place with these weights of its
// corners.
double rf_winding_between(const rf_winding *w, const rf_surface *surface, int32_t triangle,
                          const double weight[3]);
static const double RF_MIDDLE[3] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0};

// w at n places (n, 3), in tasks of many.
RF_MUST_CHECK rf_status rf_winding_at_many(const rf_winding *w, int64_t n, const double *places,
                                           double *out, const rf_run *run, rf_error *err);

#endif
