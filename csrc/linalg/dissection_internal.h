// Shared by the sources dissection*.c.
#ifndef RF_LINALG_DISSECTION_INTERNAL_H
#define RF_LINALG_DISSECTION_INTERNAL_H

#include <stdbool.h>

#include "linalg/dissection.h"

enum {
  RF_LEAF = 40,         // nodes of a set that is ordered by minimum degree
  RF_LEAF_BITS = 1024,  // nodes of such a set and around it; further ones do not count in degrees
  RF_PULLS = 48         // nodes that pull more into the separator stay in it
};

static const double RF_LEAST_PART = 0.25;  // smaller side, relative to the set

// Sides of a division.
enum { RF_SIDE_LEFT, RF_SIDE_RIGHT, RF_SIDE_SEPARATOR, RF_SIDES };

// Nodes of the separator by the number of nodes that their move to a side pulls into it.
typedef struct rf_pull_queue {
  int32_t *pulls, *next, *last;  // (n)
  int32_t first[RF_PULLS];       // -1: none
  int32_t least;                 // no node is in a queue before this one
} rf_pull_queue;

// Scratch for one set of nodes at a time.
typedef struct rf_dissection_work {
  const rf_adjacency *graph;
  const double *points;  // (n, 3)
  int32_t stamp;         // of the set being divided
  int32_t *set;          // (n) stamp of the last set of each node
  uint8_t *side;         // (n) RF_SIDE_*, of nodes of the set
  uint8_t *best;         // (n) sides of the best division so far
  int32_t *sorted;       // (n) nodes
  // planes
  int32_t *layer;         // (n) layer of each node along a direction
  uint16_t *key;          // (n)
  int32_t *left, *right;  // (n + 1) change of the boundary nodes of a side, for a plane before each
                          // layer
  int32_t *before;        // (n + 1) nodes before each layer
  // covers
  int32_t *mate, *level, *queue, *next, *boundary;  // (n)
  // refinement
  rf_pull_queue to[2];  // by the side that nodes may move to
  int32_t pass;
  int32_t *moved;  // (n) last pass in which a node left the separator
  int64_t logged, room;
  int64_t *log;  // (room) 4 node + former side
  // minimum degree
  int32_t *place;  // (n) -1 outside of a leaf
  uint64_t *bits;  // (RF_LEAF, RF_LEAF_BITS / 64)
} rf_dissection_work;

RF_MUST_CHECK rf_status rf_dissection_work_init(rf_dissection_work *w, const rf_adjacency *graph,
                                                const double *points, rf_error *err);
void rf_dissection_work_release(rf_dissection_work *w);

// Makes nodes the set being divided.
void rf_dissection_enter(rf_dissection_work *w, int32_t count, const int32_t *node);

// True if a node belongs to the set being divided.
static inline bool rf_dissection_inside(const rf_dissection_work *w, int32_t node) {
  return w->set[node] == w->stamp;
}

// Cost of a division of `count` nodes with `size` nodes on each of its sides.
double rf_dissection_cost(int32_t count, const int32_t size[RF_SIDES]);

// Sorts nodes into layers of equal coordinates along a direction: w->layer, w->before.  Returns the
// number of layers.
int32_t rf_dissection_layers(rf_dissection_work *w, int32_t count, const int32_t *node,
                             const double direction[3]);

// Divides the nodes of the set by the best plane across a direction: sets their sides, left and
// right.  Returns a bound of the cost with a minimum cover; infinity: all places are equal.
double rf_dissection_plane(rf_dissection_work *w, int32_t count, const int32_t *node,
                           const double direction[3]);

// Finds a minimum vertex cover of the edges from left to right; its nodes become
// RF_SIDE_SEPARATOR.
void rf_dissection_cover(rf_dissection_work *w, int32_t count, const int32_t *node);

// Reduces the cost of a division.
void rf_dissection_refine(rf_dissection_work *w, int32_t count, const int32_t *node,
                          int32_t size[RF_SIDES]);

// Reorders nodes to left, right, separator, by the sides given.
void rf_dissection_split(rf_dissection_work *w, int32_t count, int32_t *node, const uint8_t *side,
                         const int32_t size[RF_SIDES]);

// Reorders nodes by minimum degree in parts of RF_LEAF; other neighbours are eliminated later.
void rf_dissection_leaves(rf_dissection_work *w, int32_t count, int32_t *node);

#endif
