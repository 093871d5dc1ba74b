// Kernels of triangular solves with a panel L (columns ld numbers apart) and right-hand sides.
//
// RF_PANEL_WIDTH right-hand sides lie side by side, x (rows, RF_PANEL_WIDTH). Several such blocks,
// `stride` numbers apart, share one pass over L.
#ifndef RF_LINALG_PANEL_RT_H
#define RF_LINALG_PANEL_RT_H

#include <stdint.h>

#include "linalg/simd.h"

enum {
  RF_PANEL_WIDTH = 8,
  RF_PANEL_COLUMNS = 64  // most columns n per call: that many rows fit the first-level cache
};

// x (n) = L^-1 x, or L^-T x, with the first n rows of L.
typedef void rf_panel_solve_fn(int32_t n, const double *l, int64_t ld, int32_t blocks,
                               int64_t stride, double *x);
// to (rows) -= L from (n).
typedef void rf_panel_subtract_fn(int32_t rows, int32_t n, const double *l, int64_t ld,
                                  int32_t blocks, int64_t stride, const double *from, double *to);
// to (n) -= L^T from (rows).
RF_SIMD_DECLARE(rf_panel_solve_fn, rf_panel_solve);
RF_SIMD_DECLARE(rf_panel_solve_fn, rf_panel_solve_transposed);
RF_SIMD_DECLARE(rf_panel_subtract_fn, rf_panel_subtract);
RF_SIMD_DECLARE(rf_panel_subtract_fn, rf_panel_subtract_transposed);

#endif
