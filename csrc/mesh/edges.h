// Edges of a triangle surface, and the triangles at each.
//
// Vertices at the same place count as one.  Triangles that use a place twice have no edges.  Side k
// of triangle t, number 3 t + k, runs from corner k to the next.
#ifndef RF_MESH_EDGES_H
#define RF_MESH_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

typedef struct rf_edges {
  int32_t n_triangles, n_edges;
  int32_t *corner;  // lowest vertex at the same place as each corner       (n_triangles, 3)
  int32_t *edge;    // of each side; -1 of triangles without edges          (n_triangles, 3)
  int32_t *first;   // place in `side` where each edge begins, and the end  (n_edges + 1)
  int32_t *side;    // sides on each edge, ascending                        (first[n_edges])
} rf_edges;

// The surface must have passed rf_surface_check.  run: polled for a stop.
RF_MUST_CHECK rf_status rf_edges_create(const rf_surface *surface, const rf_run *run, rf_edges *out,
                                        rf_error *err);
void rf_edges_free(rf_edges *e);  // zeroed is fine

// Corner at which side s begins, or ends.
static inline int32_t rf_edges_from(const rf_edges *e, int32_t s) { return e->corner[s]; }
static inline int32_t rf_edges_to(const rf_edges *e, int32_t s) {
  return e->corner[s % 3 == 2 ? s - 2 : s + 1];
}

// Number of triangles at an edge.
static inline int32_t rf_edges_count(const rf_edges *e, int32_t edge) {
  return e->first[edge + 1] - e->first[edge];
}

#endif
