// Products of tall matrices, (n, few) column by column, on several threads.
//
// Rows are cut into blocks independent of the number of threads, and partial sums are added in the
// order of the blocks, so the bits do not depend on it either.  The caller has made the BLAS serial
// (linalg/blas.h).
#ifndef RF_LINALG_TALL_H
#define RF_LINALG_TALL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Returns the doubles of scratch that rf_tall_inner, and rf_tall_turn with `threads` threads, need.
size_t rf_tall_inner_scratch(int32_t n, int32_t ka, int32_t kb);
size_t rf_tall_turn_scratch(int32_t keep, int threads);

// Computes C = A^T B: A (n, ka), B (n, kb), C (ka, kb), all column-major.
RF_MUST_CHECK rf_status rf_tall_inner(const rf_run *run, int32_t n, int32_t ka, const double *a,
                                      int32_t kb, const double *b, double *scratch, double *c,
                                      rf_error *err);

// Computes B = beta B + alpha A C; A and B do not overlap.
RF_MUST_CHECK rf_status rf_tall_add(const rf_run *run, int32_t n, int32_t ka, const double *a,
                                    int32_t kb, const double *c, double alpha, double beta,
                                    double *b, rf_error *err);

// Replaces the first `keep` <= ka columns of A by A C, C (ka, keep).
RF_MUST_CHECK rf_status rf_tall_turn(const rf_run *run, int32_t n, int32_t ka, double *a,
                                     int32_t keep, const double *c, double *scratch, rf_error *err);

#endif
