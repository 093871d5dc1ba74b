// Holes of a surface: the closed loops of its border, and triangles that close them.
//
// The border is where more triangles run one way along an edge than the other way, each as often as
// there are more; after the parts were turned to face outward (mesh/orientation.h).  As a border
// has no border itself, as many of its sides begin at a vertex as end there, so it consists of
// closed loops.  They pass through no vertex twice, and vertices at the same place count as one.
#ifndef RF_MESH_HOLES_H
#define RF_MESH_HOLES_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

typedef struct rf_holes {
  int32_t n;
  int32_t *first;   // place in `vertex` where each loop begins, and the end  (n + 1)
  int32_t *vertex;  // along the loops, as the triangles beside run; each the lowest at its place
} rf_holes;

// reversed: triangles to be taken the other way round (n_triangles), NULL: none.  The surface must
// have passed rf_surface_check.
RF_MUST_CHECK rf_status rf_holes_find(const rf_surface *surface, const uint8_t *reversed,
                                      const rf_run *run, rf_holes *out, rf_error *err);
void rf_holes_free(rf_holes *h);  // zeroed is fine

// Number of triangles that close all holes: two less than a loop has vertices, of each.
int64_t rf_holes_triangles(const rf_holes *h);

// Triangles over the loops (rf_holes_triangles, 3), which run against them: those of the smallest
// area together (Barequet & Sharir 1995), of these rather short ones.  Loops of more than 200
// vertices are cut in two along a short way first.
RF_MUST_CHECK rf_status rf_holes_fill(const rf_surface *surface, const rf_holes *h,
                                      const rf_run *run, int32_t *triangles, rf_error *err);

#endif
