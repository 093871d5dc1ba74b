// Tree of axis-aligned boxes over any items: what is at a point, what is nearest.
//
// Built by halving the items at the median of their centres along the longest side,
// so depth is at most log2 of their number.  The tree does not depend on threads.
#ifndef RF_MESH_BVH_H
#define RF_MESH_BVH_H

#include <stdint.h>

#include "base/status.h"

typedef struct rf_bvh {
  int32_t n_nodes, n_items;
  double *box;     // low and high corner of each node           (n_nodes, 6)
  int32_t *first;  // leaf: first place in `item`; else: first of two children  (n_nodes)
  int32_t *count;  // leaf: items in it; else: 0                 (n_nodes)
  int32_t *item;   // items, leaf by leaf                        (n_items)
} rf_bvh;

// Enough for a walk that pushes both children: two a level.
enum { RF_BVH_STACK = 72 };

// boxes: low and high corner of each item (n_items, 6), n_items >= 1.
RF_MUST_CHECK rf_status rf_bvh_create(int32_t n_items, const double *boxes, rf_bvh *out,
                                      rf_error *err);
void rf_bvh_free(rf_bvh *bvh);

// Squared distance from p to a box; 0 inside.
static inline double rf_box_distance2(const double *box, const double *p) {
  double sum = 0.0;
  for (int c = 0; c < 3; ++c) {
    const double below = box[c] - p[c], above = p[c] - box[3 + c];
    const double d = below > 0.0 ? below : above > 0.0 ? above : 0.0;
    sum += d * d;
  }
  return sum;
}

#endif
