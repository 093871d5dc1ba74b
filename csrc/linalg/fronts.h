// Numeric part of the sparse Cholesky factorization, on several threads: a multifrontal method.
//
//   I. Duff, J. Reid: The multifrontal solution of indefinite sparse symmetric linear equations.
//   ACM Transactions on Mathematical Software 9 (1983)
//
// CHOLMOD orders the unknowns and finds the supernodes: runs of columns of L that share their rows.
// Each supernode is a front: its columns of the matrix and the updates that its children in the
// elimination tree hand up are added in a dense trapezoid, which is eliminated; what is left over
// is handed to the parent.
//
// Threads work on subtrees in parallel.  Near the root there are too few of them: fronts there are
// cut into tiles instead.  Cuts and the order of sums do not depend on the number of threads, so
// the result has the same bits for any number.
#ifndef RF_LINALG_FRONTS_H
#define RF_LINALG_FRONTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/csc.h"

// Supernodes in CHOLMOD's arrays, which must outlive what is made of them.  Columns and rows are
// numbered in the order of elimination.
typedef struct rf_supernodes {
  int32_t n, count;            // columns; supernodes
  const int32_t *permutation;  // (n) unknown of each column
  const int32_t *column;       // (count + 1) first column of each
  const int32_t *row_begin;    // (count + 1) first of its rows in `row`
  const int32_t *value_begin;  // (count) first of its values: columns of all its rows, one by one
  const int32_t *row;          // ascending, the own columns first
} rf_supernodes;

typedef struct rf_fronts rf_fronts;

RF_MUST_CHECK rf_status rf_fronts_create(const rf_supernodes *nodes, rf_fronts **out,
                                         rf_error *err);
void rf_fronts_free(rf_fronts *f);  // NULL is fine

// Values of L from the lower triangle of A, in the numbering of the unknowns.  RF_ERR_SINGULAR:
// the pivot of *bad_column (in the order of elimination) is not positive.  The BLAS is serial.
RF_MUST_CHECK rf_status rf_fronts_factorize(const rf_fronts *f, const rf_run *run,
                                            const rf_csc *lower, double *values,
                                            int32_t *bad_column, rf_error *err);

// Operations with A = P^T L L^T P or its factor.
typedef enum rf_fronts_operation {
  RF_FRONTS_SOLVE,         // A^-1
  RF_FRONTS_HALF_SOLVE,    // P^T L^-T: from the order of elimination to that of the unknowns
  RF_FRONTS_HALF_MULTIPLY  // L^T P: the other way
} rf_fronts_operation;

// Right-hand sides b (vectors, n, width): A acts alike on `width` components that lie side by side.
typedef struct rf_fronts_sides {
  int32_t vectors, width;
  const double *b;
  double *x;  // may be b
} rf_fronts_sides;

// Any number of callers at once.
RF_MUST_CHECK rf_status rf_fronts_apply(const rf_fronts *f, const rf_run *run, const double *values,
                                        rf_fronts_operation operation, const rf_fronts_sides *sides,
                                        rf_error *err);

#endif
