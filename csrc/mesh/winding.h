// Generalized winding numbers of arbitrary triangle surfaces (Jacobson, Kavan & Sorkine-Hornung
// 2013), computed by a hierarchy (Barill, Dickson, Schmidt, Levin & Jacobson 2018).
//
//   w(p) = 1 / (4 pi) sum over triangles of the solid angle under which p sees each
//
// is 1 inside and 0 outside of a closed surface that faces outward, n where n parts overlap, and
// between these numbers near holes.  Inside means w > 1/2. Triangles of a tree box farther away
// than RF_WINDING_BETA of its radii are approximated together, by a second-order Taylor expansion
// about their centroid; near ones are exact (van Oosterom & Strackee 1983).
//
// On the surface itself w is that of either side, depending on rounding.
#ifndef RF_MESH_WINDING_H
#define RF_MESH_WINDING_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

#define RF_WINDING_BETA 2.4    // radii beyond which a cluster is approximated
#define RF_WINDING_ERROR 3e-3  // largest error of w per layer of surface, on the surfaces tried
#define RF_WINDING_INSIDE 0.5  // above: inside

typedef struct rf_winding rf_winding;

// Prepares winding numbers of the surface with its parts turned to face outward
// (mesh/orientation.h). The surface is not needed afterwards.  run: polled for a stop.
RF_MUST_CHECK rf_status rf_winding_create(const rf_surface *surface, const rf_run *run,
                                          rf_winding **out, rf_error *err);

// The same for the triangles as they face, except those in `reversed` (n_triangles), NULL: none.
RF_MUST_CHECK rf_status rf_winding_create_reversed(const rf_surface *surface,
                                                   const uint8_t *reversed, const rf_run *run,
                                                   rf_winding **out, rf_error *err);
void rf_winding_free(rf_winding *w);  // NULL is allowed

// Returns w(p); 0 where p is not finite.  Any number of threads may call at once.
double rf_winding_at(const rf_winding *w, const double p[3]);

// Returns the mean of w on both sides of a triangle, at the point with these barycentric weights.
double rf_winding_between(const rf_winding *w, const rf_surface *surface, int32_t triangle,
                          const double weight[3]);
static const double RF_MIDDLE[3] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0};

// Computes w at n points (n, 3), in parallel tasks.
RF_MUST_CHECK rf_status rf_winding_at_many(const rf_winding *w, int64_t n, const double *places,
                                           double *out, const rf_run *run, rf_error *err);

#endif
