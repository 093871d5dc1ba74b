// Gram matrix of the strains of all pairs of reduced coordinates, by blocks of elements.
//
// Each block is summed from zero, and sums of blocks are added in the order of the blocks.  Their
// boundaries follow from the solid alone, and a block contains all data of its elements: its
// sum has the same bits on any machine with the same kernels, by any number of threads.
#ifndef RF_POLYNOMIAL_GRAM_H
#define RF_POLYNOMIAL_GRAM_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/simd.h"
#include "polynomial/strain.h"

typedef struct rf_solid rf_solid;

typedef struct rf_gram_block {
  int32_t r;           // reduced coordinates
  int32_t nodes;       // nodes of an element
  int32_t usual;       // quadrature points of most elements
  int32_t n_elements;  // elements
  int32_t n_nodes;     // nodes of these elements
  int32_t n_points;    // points in the tables; translated elements may share theirs
  int32_t *corner;     // nodes of each element              (n_elements, nodes)
  int32_t *material;   // index of its factor                (n_elements)
  int32_t *points;     // number of its quadrature points    (n_elements)
  int32_t *first;      // first of them in the tables        (n_elements)
  double *gradient;    // shape function gradients, 1/m      (n_points, nodes, 3)
  double *volume;      // weight times Jacobian, m^3         (n_points)
  double *basis;       // coordinate index fastest           (n_nodes, 3, r)
} rf_gram_block;

// Returns the number of blocks of `n_elements` elements of a solid.
int32_t rf_gram_blocks(const rf_solid *solid, int32_t n_elements);

// Gathers the data of one block of the elements listed (n_elements; NULL: all); basis (r, n, 3).
RF_MUST_CHECK rf_status rf_gram_gather(const rf_solid *solid, const int32_t *element,
                                       int32_t n_elements, int32_t r, const double *basis,
                                       int32_t index, rf_gram_block *out, rf_error *err);
void rf_gram_block_free(rf_gram_block *b);  // leaves an empty block

// Returns the order of the matrix: pairs (0, b), then (a, b) with 1 <= a <= b.
static inline int32_t rf_gram_order(int32_t r) { return r + r * (r + 1) / 2; }

// Computes the lower triangle of the matrix (order, order), in Fortran's order, with the unweighted
// factor of each material; rows: strain components, RF_STRAINS, or 1 for the trace.
RF_MUST_CHECK rf_status rf_gram_matrix(const rf_gram_block *b, const rf_run *run, int32_t rows,
                                       const rf_strain_factor *factor, rf_simd simd, double *matrix,
                                       rf_error *err);

#endif
