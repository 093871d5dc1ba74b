// Vector kernels of deform/field_rt.c, for blocks of places: the nearest of some tens of proxies,
// their weights (B07 3.16), places pulled back, and gradients; and of pose_rt.c, for four proxies.
// All variants and all sizes of blocks give the same bits, as none uses fused multiply-add.
#ifndef RF_DEFORM_NEAREST_H
#define RF_DEFORM_NEAREST_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/simd.h"

enum { RF_DEFORMED_BLOCK = 16, RF_DEFORMED_SEARCH_K = 16, RF_DEFORMED_SEARCH_PROXIES = 1024 };

typedef struct rf_deformed_block {
  int32_t n, k;         // places, 1 to RF_DEFORMED_BLOCK; proxies to find, at most n_proxies
  const double *proxy;  // coordinate c of proxy i at [c stride + i]
  int32_t stride;
  int32_t n_proxies;               // a multiple of 4; the padding is far away
  double x[3][RF_DEFORMED_BLOCK];  // places; copies of the first beyond n

  // Results, one row each for the nearest, the next and so on.  Squares of distances hold the
  // number of the proxy in their last bits, so that the lowest number wins ties.
  double square[RF_DEFORMED_SEARCH_K][RF_DEFORMED_BLOCK];
  int64_t number[RF_DEFORMED_SEARCH_K][RF_DEFORMED_BLOCK];
  double weight[RF_DEFORMED_SEARCH_K][RF_DEFORMED_BLOCK];  // (3.16), sum to 1
  double share[RF_DEFORMED_SEARCH_K][RF_DEFORMED_BLOCK];   // d_min / d_i
  double total[RF_DEFORMED_BLOCK];  // sum of share_i - share_last; 0: constant weights
  int32_t rows;                     // number of rows with weights
} rf_deformed_block;

typedef void rf_deformed_nearest_fn(rf_deformed_block *b);
RF_SIMD_DECLARE(rf_deformed_nearest_fn, rf_deformed_nearest);

// Pulls place j of row i back to rest[3 (i n + j)], by the maps of the proxies: columns of F^-1 and
// P - F^-1 p, four numbers each.  Writes one number beyond the last place.
typedef void rf_deformed_pull_fn(const rf_deformed_block *b, int32_t rows, const double *maps,
                                 double *rest);
RF_SIMD_DECLARE(rf_deformed_pull_fn, rf_deformed_pull);

// Gradients (n, 3) at the places of a block, from values at_rest (rows, n) and gradients slope
// (rows, n, 3) of the rest field at the places pulled back, and the means `distance` (n).  With t_i
// the gradients of the shares s_i = d_min / d_i, T = sum of s_i - s_last and values d_i,
//     sum over i of d_i grad w_i = sum over i of (d_i - sum w_k d_k) (t_i - t_last) / T .
typedef void rf_deformed_slopes_fn(const rf_deformed_block *b, const double *maps,
                                   const double *at_rest, const double *slope,
                                   const double *distance, double *gradient);
RF_SIMD_DECLARE(rf_deformed_slopes_fn, rf_deformed_slopes);

// Four proxies at some q, lanes of all vectors.
typedef struct rf_deformed_four {
  double moved[12][4];  // p, m, and rows of F
  double map[4][16];    // columns of F^-1 and P - F^-1 p, four numbers each
  bool finite;          // false: no map is of use
  bool flat[4];         // F may be flat or inverted: the map is of no use
} rf_deformed_four;

// Moves n proxies, 1 to 4, with the rows of rf_deformed_field.modes and rest.
typedef void rf_deformed_move_fn(int32_t n, int32_t r, const double *modes, const double *rest,
                                 const double *q, rf_deformed_four *out);
RF_SIMD_DECLARE(rf_deformed_move_fn, rf_deformed_move);

// Adds the products of r rows of 12 numbers with `moments` to out.
typedef void rf_deformed_push_fn(int32_t r, const double *rows, const double moments[12],
                                 double *out);
RF_SIMD_DECLARE(rf_deformed_push_fn, rf_deformed_push);

// Calls a kernel by instruction set; the widest vectors have four numbers.
#if RF_SIMD_X86
#define RF_DEFORMED_CALL(f, simd, ...) \
  ((simd) >= RF_SIMD_AVX2 ? f##_avx2_rt(__VA_ARGS__) : f##_plain_rt(__VA_ARGS__))
#else
#define RF_DEFORMED_CALL(f, simd, ...) f##_plain_rt(__VA_ARGS__)
#endif

#endif
