// Tree of four children per node for nearest-item searches, built from an rf_bvh.
//
// The four boxes of a node are tested at once, in single precision, on coordinates that map the box
// of the whole tree to [-1, 1]: their corners are rounded outwards, distances downwards, so no item
// nearer than the bound is ever missed.  The search visits nearer nodes first.
#ifndef RF_MESH_WIDE_H
#define RF_MESH_WIDE_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/bvh.h"

typedef float rf_wide_f4 __attribute__((vector_size(16)));
typedef int32_t rf_wide_i4 __attribute__((vector_size(16)));

typedef struct rf_wide_node {
  rf_wide_f4 low[3], high[3];  // corners of the four boxes
  int32_t first[4];            // leaf: position of its first item; else: node; -1: none
  int32_t count[4];            // leaf: items in it; else: 0
} rf_wide_node;

typedef struct rf_wide {
  double centre[3], scale;  // scaled coordinates: scale (x - centre)
  rf_wide_node *node;       // (n_nodes)
  int32_t n_nodes;
} rf_wide;

// A node leaves three of its four children on the stack; it replaces two levels of the binary tree.
enum { RF_WIDE_STACK = 2 * RF_BVH_STACK };

// Items keep their positions of the binary tree, which is not needed afterwards.
RF_MUST_CHECK rf_status rf_wide_create(const rf_bvh *tree, rf_wide *out, rf_error *err);
void rf_wide_free(rf_wide *w);  // a zeroed struct is allowed

// A search in progress.
typedef struct rf_wide_search {
  const rf_wide *tree;
  rf_wide_f4 low[3], high[3];  // the point, rounded downwards and upwards, in all lanes
  double square;               // squared scale
  float bound;                 // nodes further away are skipped
  int depth;
  struct {
    float distance;
    int32_t first, count;
  } stack[RF_WIDE_STACK];
} rf_wide_search;

// Lowers the bound to a squared distance; infinite: no bound.
static inline void rf_wide_bound(rf_wide_search *s, double square) {
  // enlarged by the rounding errors that distances may contain
  const double bound = square * s->square * (1.0 + 2e-6) + (double)FLT_MIN;
  s->bound = bound < (double)FLT_MAX ? (float)bound : (float)INFINITY;
}

// Begins at the root, with a bound on the squared distance.  p must be finite.
void rf_wide_begin(rf_wide_search *s, const rf_wide *tree, const double p[3], double square);

// Finds the next leaf, items from *first on; returns their number, 0 at the end.
int32_t rf_wide_next(rf_wide_search *s, int32_t *first);

#endif
