// Sparse matrices in compressed column form, 32-bit indices, rows sorted.
#ifndef RF_LINALG_CSC_H
#define RF_LINALG_CSC_H

#include <stdint.h>

#include "base/status.h"

typedef struct rf_csc {
  int32_t rows, cols;
  int32_t *colptr;  // (cols + 1)
  int32_t *rowind;  // (colptr[cols]) ascending within a column
  double *val;      // (colptr[cols])
} rf_csc;

// Allocates nnz entries with zero values.  Zero-initialise `out` first.
RF_MUST_CHECK rf_status rf_csc_create(int32_t rows, int32_t cols, int64_t nnz, rf_csc *out,
                                      rf_error *err);
RF_MUST_CHECK rf_status rf_csc_copy(const rf_csc *from, rf_csc *out, rf_error *err);
// Returns the place of entry (row, column) in rowind and val, or -1: the pattern does not have it.
int64_t rf_csc_find(const rf_csc *a, int32_t row, int32_t column);
void rf_csc_free(rf_csc *a);  // leaves an empty matrix, which may be freed again

// Computes y = (A x I) x for count vectors (count, cols, width); A is square, symmetric and stored
// as its lower triangle with diagonal, and acts alike on each of `width` (1 or 3) adjacent
// components.  One task per vector: the bits do not depend on the number of threads.
RF_MUST_CHECK rf_status rf_csc_symmetric_multiply(const rf_csc *lower, const rf_run *run, int width,
                                                  int32_t count, const double *x, double *y,
                                                  rf_error *err);

// Computes Y = A X with row-major X (cols, count) and Y (rows, count). One task per group of
// columns: the bits do not depend on the number of threads.
RF_MUST_CHECK rf_status rf_csc_multiply(const rf_csc *a, const rf_run *run, int32_t count,
                                        const double *x, double *y, rf_error *err);

#endif
