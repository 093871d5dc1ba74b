// Tree of axis-aligned boxes over any items: items that overlap a box, nearest item.
//
// Built by halving the items at the median of their centres along the longest side, so the depth is
// at most log2 of their number.  The tree does not depend on threads.
#ifndef RF_MESH_BVH_H
#define RF_MESH_BVH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct rf_bvh {
  int32_t n_nodes, n_items;
  double *box;     // low and high corner of each node           (n_nodes, 6)
  int32_t *first;  // leaf: first place in `item`; else: first of two children  (n_nodes)
  int32_t *count;  // leaf: items in it; else: 0                 (n_nodes)
  int32_t *item;   // items, leaf by leaf                        (n_items)
} rf_bvh;

enum {
  RF_BVH_LEAF = 4,   // most items of a leaf
  RF_BVH_STACK = 72  // enough for a traversal that pushes both children: two per level
};

// Builds the tree.  boxes: low and high corner of each item (n_items, 6), n_items >= 1; run: polled
// for a stop.
RF_MUST_CHECK rf_status rf_bvh_create(int32_t n_items, const double *boxes, const rf_run *run,
                                      rf_bvh *out, rf_error *err);
void rf_bvh_free(rf_bvh *bvh);

// Visitor of an item, given by its position in the order of the tree; a nonzero return stops the
// traversal.
typedef int (*rf_bvh_visit)(void *context, int32_t at);

// Visits all items in leaves whose boxes overlap the box from low to high, in no guaranteed order.
// Returns the value that stopped the traversal, or 0.
static inline int rf_bvh_overlap(const rf_bvh *b, const double low[3], const double high[3],
                                 rf_bvh_visit visit, void *context) {
  int32_t stack[RF_BVH_STACK];
  int depth = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    const int32_t node = stack[--depth];
    const double *box = b->box + 6 * (size_t)node;
    if (box[0] > high[0] || box[1] > high[1] || box[2] > high[2] || box[3] < low[0] ||
        box[4] < low[1] || box[5] < low[2])
      continue;
    if (b->count[node] == 0) {
      stack[depth++] = b->first[node];
      stack[depth++] = b->first[node] + 1;
      continue;
    }
    for (int32_t at = b->first[node]; at < b->first[node] + b->count[node]; ++at) {
      const int stop = visit(context, at);
      if (stop != 0) return stop;
    }
  }
  return 0;
}

// Returns the squared distance from p to a box; 0 inside.
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
