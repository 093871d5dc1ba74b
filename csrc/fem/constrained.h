// A solid with constrained nodes (mesh/constraints.h): K = T^T K' T, R = T^T R'(T u), M = T^T M' T.
//
// The elements form a solid of their own, with all nodes and the pattern of the elements; kernels
// and assembly do not know of constraints.  Afterwards its forces and matrices are folded to the
// independent nodes: rows and columns of constrained nodes have a zero on their diagonal only.
// Lumped masses are folded, too: m = T^T m', positive at independent nodes for the weights of
// graded meshes, with the same sum.
//
// Every entry is a sum in a fixed order and has one owner, so results have the same bits for any
// number of threads.
#ifndef RF_FEM_CONSTRAINED_H
#define RF_FEM_CONSTRAINED_H

#include "fem/fem.h"

struct rf_constrained {
  rf_solid *elements;  // without constraints and fixed nodes, owned; the solid shares its tables
  // Terms of each entry on and above the diagonal of the solid's graph; other entries have none.
  int64_t *ptr;  // (graph.ptr[n] + 1)
  // Entry of elements->graph on or above its diagonal or, if the entry is below, the complement ~
  // of the one that mirrors it, whose block is transposed   (ptr[graph.ptr[n]])
  int32_t *term;
  double *weight;
};

// Makes the graph and the masses of a solid from its elements, taken over also on failure.  `solid`
// has fixed, free, free_of, and an empty rf_constrained.
RF_MUST_CHECK rf_status rf_constrained_create(rf_solid *elements, rf_solid *solid, rf_error *err);
void rf_constrained_free(rf_constrained *constrained);  // NULL is allowed

// Fold numbers and blocks on the pattern of the elements to that of the solid; read entries on and
// above the diagonal.  upper: leave blocks below the diagonal.  row: of the solid; only entries in
// these rows and columns are whole then; NULL: all rows.
void rf_constrained_fold_numbers(const rf_solid *solid, const double *from, double *to);
RF_MUST_CHECK rf_status rf_constrained_fold_blocks(const rf_solid *solid, const rf_run *run,
                                                   const double *from, bool upper, int32_t n_rows,
                                                   const int32_t *row, double *to, rf_error *err);

// Computes numbers on the pattern of a solid without constraints.
typedef rf_status rf_numbers_of_elements(const rf_solid *elements, const void *context,
                                         double *entries, rf_error *err);
// Computes them for the elements of a solid with constraints, folded.
RF_MUST_CHECK rf_status rf_constrained_numbers(const rf_solid *solid,
                                               rf_numbers_of_elements *compute, const void *context,
                                               double *entries, rf_error *err);

// Creates a copy of the displacements (n, 3) in which constrained nodes follow; NULL where u is
// NULL or they follow in it already, to the bit.
RF_MUST_CHECK rf_status rf_constrained_copy(const rf_solid *solid, const double *u, double **out,
                                            rf_error *err);

#endif
