// Vector kernels of green_rt.c: u += columns of some nodes times forces there.
//
// entry: tiles of green.h, `side` rows of them; u (RF_GREEN_TILE side, 3).
#ifndef RF_GREEN_COLUMN_H
#define RF_GREEN_COLUMN_H

#include <stdint.h>

#include "linalg/simd.h"

typedef void rf_green_add_double_fn(const double *entry, int32_t side, int32_t m,
                                    const int32_t *place, const double *force, double *u);
typedef void rf_green_add_single_fn(const float *entry, int32_t side, int32_t m,
                                    const int32_t *place, const double *force, double *u);
// u (n) += factor entry (n): a column of a packed block.
typedef void rf_green_spread_double_fn(const double *entry, int32_t n, double factor, double *u);
typedef void rf_green_spread_single_fn(const float *entry, int32_t n, double factor, double *u);
RF_SIMD_DECLARE(rf_green_spread_double_fn, rf_green_spread_double);
RF_SIMD_DECLARE(rf_green_spread_single_fn, rf_green_spread_single);
RF_SIMD_DECLARE(rf_green_add_double_fn, rf_green_add_double);
RF_SIMD_DECLARE(rf_green_add_single_fn, rf_green_add_single);

// Calls a kernel by instruction set; the widest vectors have four numbers.
#if RF_SIMD_X86
#define RF_GREEN_CALL(simd, f, ...) \
  ((simd) >= RF_SIMD_AVX2 ? f##_avx2_rt(__VA_ARGS__) : f##_plain_rt(__VA_ARGS__))
#else
#define RF_GREEN_CALL(simd, f, ...) f##_plain_rt(__VA_ARGS__)
#endif

#endif
