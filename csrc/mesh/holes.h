// Holes of a surface: the closed loops of its border, and triangles that close them.
//
// A border side is a directed edge along which more triangles run one way than the other, once for
// each triangle in excess; parts have been turned to face outward before (mesh/orientation.h). As
// many border sides begin at each vertex as end there, so the border consists of closed loops.  A
// loop visits no vertex twice, and coincident vertices count as one.
#ifndef RF_MESH_HOLES_H
#define RF_MESH_HOLES_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

typedef struct rf_holes {
  int32_t n;
  int32_t *first;   // range of each loop in `vertex`  (n + 1)
  int32_t *vertex;  // along the loops, in the direction of adjacent triangles; lowest of coincident
                    // vertices
} rf_holes;

// Finds the loops of a surface that has passed rf_surface_check.  reversed: triangles to be
// reversed (n_triangles), NULL: none.
RF_MUST_CHECK rf_status rf_holes_find(const rf_surface *surface, const uint8_t *reversed,
                                      const rf_run *run, rf_holes *out, rf_error *err);
void rf_holes_free(rf_holes *h);  // a zeroed struct is allowed

// Returns the number of triangles that close all holes: per loop, its vertices less two.
int64_t rf_holes_triangles(const rf_holes *h);

// Computes triangles over the loops (rf_holes_triangles, 3), in the direction opposite to them:
// those of smallest total area (Barequet & Sharir 1995), with a small preference for short sides.
// Loops of more than 200 vertices are first cut in two along a short line.
RF_MUST_CHECK rf_status rf_holes_fill(const rf_surface *surface, const rf_holes *h,
                                      const rf_run *run, int32_t *triangles, rf_error *err);

#endif
