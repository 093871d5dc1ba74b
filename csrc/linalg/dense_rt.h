// Small dense solves for one tick: no BLAS, no allocation, bounded time.
//
// Matrices are row-major, ld rows of ld doubles, ld = rf_dense_ld(n); vectors have ld doubles.  All
// are 64-byte aligned, and zero beyond n; results are zero there too.
#ifndef RF_LINALG_DENSE_RT_H
#define RF_LINALG_DENSE_RT_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/simd.h"

enum { RF_DENSE_PAD = 8 };

static inline int32_t rf_dense_ld(int32_t n) {
  return (n + RF_DENSE_PAD - 1) / RF_DENSE_PAD * RF_DENSE_PAD;
}

// Computes the root-free Cholesky factor A = V^T D^-1 V in place from the upper triangle: V above
// the diagonal, the reciprocals of the pivots D on it.  False when a pivot is not positive; the
// matrix is destroyed then.
bool rf_dense_cholesky_rt(rf_simd simd, int32_t n, double *a, int32_t ld);
// Computes x = A^-1 b from that factor; x and b may be the same.
void rf_dense_cholesky_solve_rt(rf_simd simd, int32_t n, const double *u, int32_t ld,
                                const double *b, double *x);

// B (n rows of ldb, padded) becomes L^-1 B, L L^T = A, from that factor.
void rf_dense_half_solve_rt(rf_simd simd, int32_t n, const double *u, int32_t ld, int32_t ldb,
                            double *b);

// Computes y = A x.
void rf_dense_multiply_rt(rf_simd simd, int32_t n, const double *a, int32_t ld, const double *x,
                          double *y);
// Computes out = p A + q B, upper triangle only.
void rf_dense_combine_rt(rf_simd simd, int32_t n, double p, const double *a, double q,
                         const double *b, int32_t ld, double *out);
// Computes out (m rows) += A^T B for some rows of A (count, lda) and B (count, ld). Zero padding of
// A and B, to a multiple of 4 of m and of 8 of n, yields zero padding of out.
void rf_dense_add_products_rt(rf_simd simd, int32_t m, int32_t n, int32_t count, const double *a,
                              int32_t lda, const double *b, int32_t ld, double *out);
// Solves A x = b with row exchanges.  b is column n of A, whose n rows have ld = rf_dense_ld(n + 1)
// numbers; both are destroyed.  scratch (8 ld); x (ld).  False when a column has no pivot, which
// NaN may hide: the caller checks that x is finite.
bool rf_dense_eliminate_rt(rf_simd simd, int32_t n, double *a, int32_t ld, double *scratch,
                           double *x);

// The variants, one set per dense_<variant>_rt.c.
typedef bool rf_dense_cholesky_fn(int32_t n, double *a, int32_t ld);
typedef void rf_dense_cholesky_solve_fn(int32_t n, const double *u, int32_t ld, const double *b,
                                        double *x);
typedef void rf_dense_half_solve_fn(int32_t n, const double *u, int32_t ld, int32_t ldb, double *b);
typedef void rf_dense_multiply_fn(int32_t n, const double *a, int32_t ld, const double *x,
                                  double *y);
typedef void rf_dense_combine_upper_fn(int32_t n, double p, const double *a, double q,
                                       const double *b, int32_t ld, double *out);
typedef void rf_dense_add_products_fn(int32_t m, int32_t n, int32_t count, const double *a,
                                      int32_t lda, const double *b, int32_t ld, double *out);
typedef bool rf_dense_eliminate_fn(int32_t n, double *a, int32_t ld, double *scratch, double *x);
RF_SIMD_DECLARE(rf_dense_eliminate_fn, rf_dense_eliminate);
RF_SIMD_DECLARE(rf_dense_cholesky_fn, rf_dense_cholesky);
RF_SIMD_DECLARE(rf_dense_cholesky_solve_fn, rf_dense_cholesky_solve);
RF_SIMD_DECLARE(rf_dense_half_solve_fn, rf_dense_half_solve);
RF_SIMD_DECLARE(rf_dense_multiply_fn, rf_dense_multiply);
RF_SIMD_DECLARE(rf_dense_combine_upper_fn, rf_dense_combine_upper);
RF_SIMD_DECLARE(rf_dense_add_products_fn, rf_dense_add_products);

#endif
