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

// Room for nnz entries, values zero.  Zero-initialise `out` first.
RF_MUST_CHECK rf_status rf_csc_create(int32_t rows, int32_t cols, int64_t nnz, rf_csc *out,
                                      rf_error *err);
void rf_csc_free(rf_csc *a);  // leaves a zero matrix, which may be freed again

// y = A x for nrhs columns (column-major, leading dimensions rows / cols) where
// A is square, symmetric and only its lower triangle (with diagonal) is stored.
void rf_csc_symmetric_multiply(const rf_csc *lower, int nrhs, const double *x, double *y);

#endif
