// Edges of a triangle surface, and the triangles at each edge.
//
// Coincident vertices count as one.  Triangles that use a point twice have no edges.  Side k of
// triangle t, number 3 t + k, runs from corner k to the next.
#ifndef RF_MESH_EDGES_H
#define RF_MESH_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

typedef struct rf_edges {
  int32_t n_triangles, n_edges;
  int32_t *corner;  // lowest vertex coincident with each corner                (n_triangles, 3)
  int32_t *edge;    // edge of each side; -1 for triangles without edges         (n_triangles, 3)
  int32_t *first;   // range of each edge in `side`                             (n_edges + 1)
  int32_t *side;    // sides on each edge, ascending                        (first[n_edges])
} rf_edges;

// Prepares the edges of a surface that has passed rf_surface_check.  run: polled for a stop.
RF_MUST_CHECK rf_status rf_edges_create(const rf_surface *surface, const rf_run *run, rf_edges *out,
                                        rf_error *err);
void rf_edges_free(rf_edges *e);  // a zeroed struct is allowed

// Vertices at which side s begins and ends.
static inline int32_t rf_edges_from(const rf_edges *e, int32_t s) { return e->corner[s]; }
static inline int32_t rf_edges_to(const rf_edges *e, int32_t s) {
  return e->corner[s % 3 == 2 ? s - 2 : s + 1];
}

// Returns the number of triangles at an edge.
static inline int32_t rf_edges_count(const rf_edges *e, int32_t edge) {
  return e->first[edge + 1] - e->first[edge];
}

#endif
