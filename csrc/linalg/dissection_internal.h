// Shared by the sources dissection*.c.
//
// Sets of nodes are divided one at a time.  Each has a graph and places of its own, numbered from 0
// in its order, so that passes over its edges read memory in order and meet no other nodes.
#ifndef RF_LINALG_DISSECTION_INTERNAL_H
#define RF_LINALG_DISSECTION_INTERNAL_H

#include <stdbool.h>

#include "linalg/dissection.h"

enum {
  RF_LEAF = 40,         // nodes of a set that is ordered by minimum degree, and the most of them,
  RF_MOST_LEAF = 256,   // in graphs of more neighbours or where that has fewer entries
  RF_LEAF_BITS = 1024,  // nodes of such a set and around it; further ones do not count in degrees
  RF_PULLS = 48,        // nodes that pull more into the separator stay in it
  RF_AXES = 3,          // fields along the axes come first
  RF_DIRECTIONS = 13,   // then along the diagonals of faces and of a cube
  RF_FIELDS = 16,       // then distances in the graph
  RF_BINS = 2048        // values of a field
};

static const int64_t RF_MANY_ENTRIES = INT64_MAX;
static const double RF_LEAST_PART = 0.25;  // smaller side, relative to the set

// Sides of a division.
enum { RF_SIDE_LEFT, RF_SIDE_RIGHT, RF_SIDE_SEPARATOR, RF_SIDES };

// Values of all fields at a node.
typedef struct rf_field_values {
  int16_t at[RF_FIELDS];  // 0 to RF_BINS - 1
} rf_field_values;

// Changes from one plane of each field to the next.
typedef struct rf_plane_counts {
  int32_t before[RF_FIELDS];                  // nodes on the left side
  int32_t left[RF_FIELDS], right[RF_FIELDS];  // boundary nodes of the sides
} rf_plane_counts;

// Plane between values of a field: nodes with smaller values are on the left side.
typedef struct rf_plane {
  int field;
  int16_t value;
  double cost;  // bound, with a minimum cover
} rf_plane;

// Nodes of the separator by the number of nodes that their move to a side pulls into it.
typedef struct rf_pull_queue {
  int32_t *pulls, *next, *last;  // (n)
  int32_t first[RF_PULLS];       // -1: none
  int32_t least;                 // no node is in a queue before this one
} rf_pull_queue;

// Scratch.  Arrays by node are numbered as the set, except place.
typedef struct rf_dissection_work {
  const rf_adjacency *graph;  // whole
  int32_t leaf;               // nodes of a set ordered by minimum degree
  // the set being divided: views
  rf_adjacency part;
  double *point;  // (part.n, 3)
  uint8_t *side;  // (n) RF_SIDE_*
  uint8_t *best;  // (n) sides of the best division so far
  // storage of all sets: that of a set of nodes i to j begins at 2 i in ptr, at i in points
  int32_t *ptr;       // (2 n + 2)
  int32_t *neighbor;  // (graph->ptr[n])
  double *points;     // (n, 3)
  // the right side, and numbers, while a set is split
  int32_t *sorted, *number, *right_ptr;  // (n), (n), (n + 1)
  int32_t *right_neighbor;               // (graph->ptr[n])
  double *right_point;                   // (n, 3)
  // planes
  double extent[RF_DIRECTIONS];  // of the places, over 8
  rf_field_values *value;        // (n)
  rf_field_values *high;         // (n) largest of a node and its neighbours
  rf_plane_counts *counts;       // (RF_BINS + 2)
  int32_t layer[RF_BINS];        // of grids: number of the layer with each value
  // covers
  int32_t n_boundary, *boundary;  // left nodes with neighbours on the right side
  int32_t *mate, *next;           // (n)
  int32_t *level, *queue;         // (2 n)
  // flows
  int32_t *band;    // (n) nodes that the cut may take
  int32_t *onward;  // (n) next node on the path through a node; mate is the one before
  uint8_t *ends;    // (n) zones next to a node, then its new side
  // refinement
  rf_pull_queue to[2];  // by the side that nodes may move to
  int32_t pass;
  int32_t *moved;  // (n) last pass in which a node left the separator
  int64_t logged, room;
  int64_t *log;  // (room) 4 node + former side
  // minimum degree
  int32_t *place;  // (n) in the whole graph; -1 outside of a leaf
  uint64_t *bits;  // (RF_MOST_LEAF, RF_LEAF_BITS / 64)
  bool small;      // within a set of up to RF_MOST_LEAF nodes
} rf_dissection_work;

// Divides the set: sides and their sizes.  *divided: false if it cannot be divided.
typedef rf_status rf_divide(rf_dissection_work *w, int32_t size[RF_SIDES], bool *divided,
                            rf_error *err);

// Orders by a rule of division, down to sets of `least` nodes (0: those of a leaf), which minimum
// degree orders; sets that cannot be divided likewise, or by `undivided` unless NULL.
// compared: sets of up to RF_MOST_LEAF nodes take minimum degree where that has fewer entries.
typedef struct rf_dissection_rule {
  rf_divide *divide;
  rf_order_graph *undivided;
  int32_t least;
  bool compared;
} rf_dissection_rule;
RF_MUST_CHECK rf_status rf_dissection_run(const rf_adjacency *graph, const double *points,
                                          const rf_dissection_rule *rule, int32_t *order,
                                          rf_error *err);

RF_MUST_CHECK rf_status rf_dissection_work_init(rf_dissection_work *w, const rf_adjacency *graph,
                                                rf_error *err);
void rf_dissection_work_release(rf_dissection_work *w);

// Cost of a division of `count` nodes with `size` nodes on each of its sides.
double rf_dissection_cost(int32_t count, const int32_t size[RF_SIDES]);

// Sets the values of the fields along directions.
void rf_dissection_places(rf_dissection_work *w);

// Finds the best plane of each field, those of least cost first; returns their number.
int rf_dissection_planes(rf_dissection_work *w, rf_plane plane[RF_FIELDS]);

// Divides the set by a plane: sides, left and right, and the boundary.
void rf_dissection_cut(rf_dissection_work *w, const rf_plane *plane);

// Finds a minimum vertex cover of the edges from left to right, given the boundary; its nodes
// become RF_SIDE_SEPARATOR.
void rf_dissection_cover(rf_dissection_work *w);

// Reduces the cost of a division.  patience: moves without a better state.
void rf_dissection_refine(rf_dissection_work *w, int passes, int patience, int32_t size[RF_SIDES]);

// Replaces the separator by a smallest one among the nodes around it, if that reduces the cost.
void rf_dissection_flow(rf_dissection_work *w, int32_t size[RF_SIDES]);

// Reorders up to RF_MOST_LEAF nodes of the whole graph by minimum degree.  Returns the entries of
// their columns of the factor, by nodes; RF_MANY_ENTRIES, not counted, where these nodes and those
// around them exceed the bits.
int64_t rf_dissection_leaf(rf_dissection_work *w, int32_t count, int32_t *node);

// Returns the same of nodes in a given order.
int64_t rf_dissection_entries(rf_dissection_work *w, int32_t count, const int32_t *node);

// Reorders nodes of the whole graph by minimum degree in parts of w->leaf; other neighbours are
// eliminated later.
void rf_dissection_leaves(rf_dissection_work *w, int32_t count, int32_t *node);

#endif
