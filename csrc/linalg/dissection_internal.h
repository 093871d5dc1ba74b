// Shared by dissection.c, dissection_cover.c, dissection_degree.c and dissection_plane.c.
#ifndef RF_LINALG_DISSECTION_INTERNAL_H
#define RF_LINALG_DISSECTION_INTERNAL_H

#include <stdbool.h>

#include "linalg/dissection.h"

enum {
  RF_LEAF = 64,        // nodes ordered by minimum degree
  RF_LEAF_BITS = 1024  // nodes of a leaf and around it; further ones do not count in degrees
};

enum { RF_SIDE_LEFT, RF_SIDE_RIGHT, RF_SIDE_SEPARATOR };

enum { RF_PULLS = 48 };

// Nodes of the separator by the number of nodes that their move to a side pulls into it.
typedef struct rf_refine_queue {
  int32_t *pulls, *next, *last;  // (n)
  int32_t first[RF_PULLS], least;
} rf_refine_queue;

// Scratch for one set of nodes at a time.
typedef struct rf_dissection_work {
  const rf_adjacency *graph;
  const double *points;  // (n, 3)
  int32_t stamp;         // of the set being divided
  int32_t *set;          // (n) stamp of the last set of each node
  uint8_t *side;         // (n) RF_SIDE_*, of nodes of the set
  uint8_t *best;         // (n) sides of the best division so far
  int32_t *layer;        // (n) layer of each node along a direction
  int32_t *sorted, *swap;  // (n) nodes
  uint16_t *key;           // (n)
  int32_t *left, *right;   // (n + 1) boundary nodes of either side, for a plane before each layer
  int32_t *before;         // (n + 1) nodes before each layer
  int32_t *mate, *level, *queue, *next, *boundary;  // (n)
  // refinement
  rf_refine_queue queue_to[2];
  int32_t pass;
  int32_t *moved;   // (n) last pass in which a node left the separator
  int32_t logged, room;
  int64_t *log;     // (room) 4 node + former side
  int32_t *place;                                   // (n) -1 outside of a leaf
  uint64_t *bits;                                   // (RF_LEAF, RF_LEAF_BITS / 64)
} rf_dissection_work;

// True if a node belongs to the set being divided.
static inline bool rf_dissection_inside(const rf_dissection_work *w, int32_t node) {
  return w->set[node] == w->stamp;
}

// Divides the nodes of the set by the best plane across a direction: sets their sides, left and
// right.  Returns a bound of the size of the cover, and -1 if all places are equal.
int32_t rf_dissection_plane(rf_dissection_work *w, int32_t count, const int32_t *node,
                            const double direction[3]);

// Finds a minimum vertex cover of the edges from left to right; its nodes become
// RF_SIDE_SEPARATOR.  Returns their number.
int32_t rf_dissection_cover(rf_dissection_work *w, int32_t count, const int32_t *node);

// Improves a separator; size: numbers of nodes of each side.
void rf_dissection_refine(rf_dissection_work *w, int32_t count, const int32_t *node,
                          int32_t size[3]);

// Cost of a separator of a set of `count` nodes; sides have `left` and `right` nodes.
double rf_dissection_cost(int32_t count, int32_t left, int32_t right, int32_t separator);

// Orders up to RF_LEAF nodes by minimum degree, given that their other neighbours come later.
void rf_dissection_leaf(rf_dissection_work *w, int32_t count, int32_t *node);

#endif
