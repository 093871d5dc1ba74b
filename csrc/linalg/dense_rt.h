// Small dense solves for one tick: no BLAS, no allocation, bounded time.
//
// Matrices are row-major with row length ld, a multiple of RF_DENSE_PAD not below
// n; rows are 64-byte aligned and numbers beyond column n - 1 must be zero.
#ifndef RF_LINALG_DENSE_RT_H
#define RF_LINALG_DENSE_RT_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/simd.h"

enum { RF_DENSE_PAD = 8 };

static inline int32_t rf_dense_ld(int32_t n) {
  return (n + RF_DENSE_PAD - 1) / RF_DENSE_PAD * RF_DENSE_PAD;
}

// A = U^T U in place from the upper triangle.  The diagonal then holds the reciprocals of
// U's.  False when a pivot is not positive; the matrix is spoilt then.
bool rf_dense_cholesky_rt(rf_simd simd, int32_t n, double *a, int32_t ld);
// x = A^-1 b from that factor; x and b may be the same; both have ld numbers.
void rf_dense_cholesky_solve_rt(rf_simd simd, int32_t n, const double *u, int32_t ld,
                                const double *b, double *x);

// Gaussian elimination with partial pivoting for what Cholesky refuses; a and x are
// overwritten, x from right-hand side to solution.  False when singular.
bool rf_dense_lu_solve_rt(int32_t n, double *a, int32_t ld, double *x);

// y = A x for the first n rows and columns; y has n numbers.
void rf_dense_multiply_rt(int32_t n, const double *a, int32_t ld, const double *x, double *y);

// The variants, one a dense_<variant>_rt.c.
typedef bool rf_cholesky_fn(int32_t n, double *a, int32_t ld);
typedef void rf_cholesky_solve_fn(int32_t n, const double *u, int32_t ld, const double *b,
                                  double *x);
rf_cholesky_fn rf_cholesky_plain_rt, rf_cholesky_avx2_rt, rf_cholesky_avx512_rt;
rf_cholesky_solve_fn rf_cholesky_solve_plain_rt, rf_cholesky_solve_avx2_rt,
    rf_cholesky_solve_avx512_rt;

#endif
