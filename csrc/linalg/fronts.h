// Numeric part of the sparse Cholesky factorization on several threads: a multifrontal method.
//
//   I. Duff, J. Reid: The multifrontal solution of indefinite sparse symmetric linear equations.
//   ACM Transactions on Mathematical Software 9 (1983)
//
// CHOLMOD orders the unknowns and finds the supernodes: runs of columns of L with the same rows.
// Each supernode is a front: its columns of the matrix, and the updates from its children in the
// elimination tree, are added in a dense trapezoid.  Its columns are eliminated; the remaining
// update goes to the parent.
//
// Threads work on subtrees in parallel.  Near the root there are too few subtrees, so fronts are
// cut into tiles.  Cuts and the order of sums do not depend on the number of threads, and neither
// do the bits of the result.
#ifndef RF_LINALG_FRONTS_H
#define RF_LINALG_FRONTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/csc.h"

// Supernodes in CHOLMOD's arrays, which must outlive all objects created from them.  Columns and
// rows are numbered in the order of elimination.
typedef struct rf_supernodes {
  int32_t n, count;            // columns; supernodes
  const int32_t *permutation;  // (n) unknown of each column
  const int32_t *column;       // (count + 1) first column of each
  const int32_t *row_begin;    // (count + 1) first of its rows in `row`
  const int32_t *value_begin;  // (count) first of its values, column-major over all its rows
  const int32_t *row;          // ascending, the own columns first
} rf_supernodes;

typedef struct rf_fronts rf_fronts;

RF_MUST_CHECK rf_status rf_fronts_create(const rf_supernodes *nodes, rf_fronts **out,
                                         rf_error *err);
void rf_fronts_free(rf_fronts *f);  // NULL is allowed

// Computes the values of L from the lower triangle of A, in the numbering of the unknowns.
// RF_ERR_SINGULAR: the pivot of *bad_column (in the order of elimination) is not positive.  The
// BLAS must be serial.
RF_MUST_CHECK rf_status rf_fronts_factorize(const rf_fronts *f, const rf_run *run,
                                            const rf_csc *lower, double *values,
                                            int32_t *bad_column, rf_error *err);

// Operations with A = P^T L L^T P or its factor.
typedef enum rf_fronts_operation {
  RF_FRONTS_SOLVE,         // A^-1
  RF_FRONTS_HALF_SOLVE,    // P^T L^-T: from the order of elimination to that of the unknowns
  RF_FRONTS_HALF_MULTIPLY  // L^T P: the reverse
} rf_fronts_operation;

// Right-hand sides b (vectors, n, width): A acts alike on each of `width` adjacent components.
typedef struct rf_fronts_sides {
  int32_t vectors, width;
  const double *b;
  double *x;  // may equal b
} rf_fronts_sides;

// Applies an operation; any number of callers may do so at once.
RF_MUST_CHECK rf_status rf_fronts_apply(const rf_fronts *f, const rf_run *run, const double *values,
                                        rf_fronts_operation operation, const rf_fronts_sides *sides,
                                        rf_error *err);

#endif
