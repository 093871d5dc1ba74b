// Kernel of U^T K U: the rows of K U of one node.
#ifndef RF_MODEL_PROJECT_ROW_H
#define RF_MODEL_PROJECT_ROW_H

#include <stdint.h>

#include "linalg/simd.h"

// Computes y (3, ld) = sum over `count` neighbours p of the block p (3, 3) times the rows (3, ld)
// of U of node col[p]; ld is a multiple of 8, all arrays except `blocks` are aligned to 64 bytes.
typedef void rf_project_row_fn(int32_t ld, int32_t count, const int32_t *col, const double *blocks,
                               const double *rows, double *y);

rf_project_row_fn rf_project_row_plain, rf_project_row_avx2, rf_project_row_avx512;

#endif
