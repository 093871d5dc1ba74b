// The nearest of some tens of proxies, their weights, places pulled back and gradients, for blocks:
// vectors for contact/deformed_field_rt.c.  All variants, blocks of any size and places one by one
// find the same bits: no instruction set here joins products with sums.
#ifndef RF_CONTACT_DEFORMED_FIELD_NEAREST_H
#define RF_CONTACT_DEFORMED_FIELD_NEAREST_H

#include <stdint.h>

#include "linalg/simd.h"

enum { RF_NEAREST_BLOCK = 16, RF_NEAREST_MAX_K = 16, RF_NEAREST_MAX_PROXIES = 1024 };

typedef struct rf_nearest {
  int32_t n, k;         // places, 1 to RF_NEAREST_BLOCK; proxies to be found, n_proxies at most
  const double *proxy;  // coordinate c of proxy i at [c stride + i]
  int32_t stride;
  int32_t n_proxies;              // a multiple of 4; what fills them up is far away
  double x[3][RF_NEAREST_BLOCK];  // places; the first again beyond n

  // Result, a row each for the nearest, the next and so on: squares of distances, whose last bits
  // hold the number of the proxy, so that the lowest number wins ties.
  double square[RF_NEAREST_MAX_K][RF_NEAREST_BLOCK];
  int64_t number[RF_NEAREST_MAX_K][RF_NEAREST_BLOCK];
  double weight[RF_NEAREST_MAX_K][RF_NEAREST_BLOCK];  // (3.16), sum to 1
  double share[RF_NEAREST_MAX_K][RF_NEAREST_BLOCK];   // d_min / d_i
  double total[RF_NEAREST_BLOCK];  // sum of share_i - share_last; 0: weights do not vary
  int32_t rows;                    // that have weights
} rf_nearest;

typedef void rf_deformed_nearest_fn(rf_nearest *b);
RF_SIMD_DECLARE(rf_deformed_nearest_fn, rf_deformed_nearest);

// Place j of row i pulled back to rest[3 (i n + j)], by the maps of the proxies: columns of F^-1
// and P - F^-1 p, four numbers each.  One number more than places have is written to.
typedef void rf_deformed_pull_fn(const rf_nearest *b, int32_t rows, const double *maps,
                                 double *rest);
RF_SIMD_DECLARE(rf_deformed_pull_fn, rf_deformed_pull);

// Gradients (n, 3) at the places of a block, of what the field at rest says where they are pulled
// back to, values at_rest (rows, n) and gradients slope (rows, n, 3), and of the means `distance`
// (n).  With t_i the gradients of the shares s_i = d_min / d_i, T = sum of s_i - s_last and values
// d_i,
//     sum over i of d_i grad w_i = sum over i of (d_i - sum w_k d_k) (t_i - t_last) / T .
typedef void rf_deformed_slopes_fn(const rf_nearest *b, const double *maps, const double *at_rest,
                                   const double *slope, const double *distance, double *gradient);
RF_SIMD_DECLARE(rf_deformed_slopes_fn, rf_deformed_slopes);

#endif
