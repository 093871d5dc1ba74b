// Products of float32 rows with float64 vectors, in variants for instruction sets.
#ifndef RF_POINTSHELL_TREE_KERNELS_H
#define RF_POINTSHELL_TREE_KERNELS_H

#include <stdint.h>

#include "linalg/simd.h"

// Computes out (count, 3) = base (., 3) + rows (., 3, n) x for some points; n is a multiple of 8.
typedef void rf_tree_move_fn(int32_t n, int32_t count, const int32_t *place, const double *base,
                             const float *rows, const double *x, double *out);
// Computes out (count) = rows (., n) x.
typedef void rf_tree_dot_fn(int32_t n, int32_t count, const int64_t *which, const float *rows,
                            const double *x, double *out);
// Adds rows (3, n)^T f to out (n).
typedef void rf_tree_add_fn(int32_t n, const float *rows, const double *f, double *out);

RF_SIMD_DECLARE(rf_tree_move_fn, rf_tree_move);
RF_SIMD_DECLARE(rf_tree_dot_fn, rf_tree_dot);
RF_SIMD_DECLARE(rf_tree_add_fn, rf_tree_add);

#endif
