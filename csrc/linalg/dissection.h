// Nested dissection by the places of nodes: an ordering for sparse Cholesky factorization.
//
//   Y. Zhuang: Real-time simulation of physically realistic global deformations, thesis, Berkeley
//   2000, section 4.1 (called Z00 below)
//   A. George: Nested dissection of a regular finite element mesh. SIAM Journal on Numerical
//   Analysis 10 (1973)
//
// A plane divides the nodes of a set, or a level of the distance in the graph from a node at its
// end.  Edges of the graph that cross it make a bipartite graph; its minimum vertex cover separates
// the rest of both sides (Z00 4.1.1.2).  Of several such separators, refined, the best one gives
// way to a minimum vertex cut of the nodes around it.  It is eliminated after both sides, which are
// divided in the same way.  Sets of a few nodes are eliminated by minimum degree.
//
// Deterministic and thread safe: no random numbers, no state of the process.
#ifndef RF_LINALG_DISSECTION_H
#define RF_LINALG_DISSECTION_H

#include <stdint.h>

#include "base/status.h"

// Adjacency of the nodes of a symmetric pattern, in both directions and without the diagonal.
typedef struct rf_adjacency {
  int32_t n;
  int32_t *ptr;       // (n + 1)
  int32_t *neighbor;  // (ptr[n])
} rf_adjacency;

void rf_adjacency_free(rf_adjacency *a);  // leaves an empty graph, which may be freed again

// Orders a graph without places.
typedef rf_status rf_order_graph(const rf_adjacency *graph, int32_t *order, rf_error *err);

// Sets order (n): nodes in the order of elimination.  points (n, 3), finite.  undivided: for sets
// of many nodes that neither planes nor distances divide.
RF_MUST_CHECK rf_status rf_dissection(const rf_adjacency *graph, const double *points,
                                      rf_order_graph *undivided, int32_t *order, rf_error *err);

// The dissection of regular grids (George 1973): the separator is the middle layer of nodes across
// the longest side, counted in layers.  RF_ERR_ARG if a layer does not separate.
RF_MUST_CHECK rf_status rf_dissection_nested(const rf_adjacency *graph, const double *points,
                                             int32_t *order, rf_error *err);

// Elements of a mesh.
typedef struct rf_dissection_elements {
  int32_t count, corners;
  const int32_t *node;     // (count, corners) nodes of the mesh
  const int32_t *unknown;  // number of each node in the order; negative: none.  Nullable: its own
} rf_dissection_elements;

// The simple dissection (Z00 4.1.1.1): a plane through the median of centroids, across the axis
// where it cuts the fewest elements; all nodes of cut elements are eliminated after the others.
// Sets order (n).  points: of all nodes of the mesh.
RF_MUST_CHECK rf_status rf_dissection_simple(const rf_dissection_elements *elements,
                                             const double *points, int32_t n, int32_t *order,
                                             rf_error *err);

// Minimum degree, exact: degrees are those of the elimination graph.  Memory grows as n^2 / 8
// bytes.
RF_MUST_CHECK rf_status rf_minimum_degree(const rf_adjacency *graph, int32_t *order, rf_error *err);

enum { RF_MINIMUM_DEGREE_MAX = 60000 };  // nodes

#endif
