// Parts of nested dissection, for tests: a cover, its refinement, its minimum cut, and leaves.
#include <string.h>

#include "linalg/dissection_internal.h"

// Divides all nodes of a graph: side (n) in, 0 or 1; out with a separator, 2.  refined: 0 the
// cover, 1 refined, 2 its minimum cut, 3 that of the separator in `side`.  Returns 0 or a status.
int divide(int32_t n, int32_t *ptr, int32_t *neighbor, int refined, uint8_t *side, int32_t *size) {
  const rf_adjacency graph = {n, ptr, neighbor};
  rf_dissection_work w;
  rf_error err = {0};
  rf_status st = rf_dissection_work_init(&w, &graph, &err);
  if (st >= 0) {
    w.part = graph;
    memcpy(w.side, side, (size_t)n);
    for (int32_t i = 0; i < n; ++i) {
      bool crosses = false;
      for (int32_t p = ptr[i]; p < ptr[i + 1]; ++p) crosses |= side[neighbor[p]] > side[i];
      if (crosses) w.boundary[w.n_boundary++] = i;
    }
    if (refined < 3) rf_dissection_cover(&w);
    memset(size, 0, RF_SIDES * sizeof *size);
    for (int32_t i = 0; i < n; ++i) ++size[w.side[i]];
    if (refined == 1) rf_dissection_refine(&w, 4, 100, size);
    if (refined >= 2) rf_dissection_flow(&w, size);
    memcpy(side, w.side, (size_t)n);
  }
  rf_dissection_work_release(&w);
  return st;
}

// Orders the first `count` nodes of a graph, up to RF_MOST_LEAF, by minimum degree: entries (2),
// those found on the way and those of the order.
int order_leaf(int32_t n, int32_t *ptr, int32_t *neighbor, int32_t count, int32_t *order,
               int64_t *entries) {
  const rf_adjacency graph = {n, ptr, neighbor};
  rf_dissection_work w;
  rf_error err = {0};
  rf_status st = rf_dissection_work_init(&w, &graph, &err);
  if (st >= 0) {
    for (int32_t i = 0; i < count; ++i) order[i] = i;
    entries[0] = rf_dissection_leaf(&w, count, order);
    entries[1] = rf_dissection_entries(&w, count, order);
  }
  rf_dissection_work_release(&w);
  return st;
}
