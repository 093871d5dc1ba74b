// Householder's reduction of a small symmetric matrix to tridiagonal form T = Q^T A Q, with the
// conventions of linalg/dense_rt.h.
#ifndef RF_LINALG_TRIDIAGONAL_H
#define RF_LINALG_TRIDIAGONAL_H

#include <stdint.h>

#include "linalg/simd.h"

// From the rows of A (n, ld): diagonal of T (n), entries beside it (n - 1), and, in place of A, the
// reflectors of Q.  work (2 ld), padded.
void rf_tridiagonal_reduce_rt(rf_simd simd, int32_t n, double *a, int32_t ld, double *diagonal,
                              double *beside, double *work);
// x becomes Q^T x, or Q x.
void rf_tridiagonal_into_rt(rf_simd simd, int32_t n, const double *a, int32_t ld, double *x);
void rf_tridiagonal_back_rt(rf_simd simd, int32_t n, const double *a, int32_t ld, double *x);

typedef void rf_tridiagonal_reduce_fn(int32_t n, double *a, int32_t ld, double *diagonal,
                                      double *beside, double *work);
typedef void rf_tridiagonal_turn_fn(int32_t n, const double *a, int32_t ld, double *x);
RF_SIMD_DECLARE(rf_tridiagonal_reduce_fn, rf_tridiagonal_reduce);
RF_SIMD_DECLARE(rf_tridiagonal_turn_fn, rf_tridiagonal_into);
RF_SIMD_DECLARE(rf_tridiagonal_turn_fn, rf_tridiagonal_back);

#endif
