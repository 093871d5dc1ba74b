#include "linalg/dense_rt.h"

#include <math.h>

bool rf_dense_cholesky_rt(rf_simd simd, int32_t n, double *a, int32_t ld) {
  return RF_SIMD_CALL(simd, rf_dense_cholesky, n, a, ld);
}

void rf_dense_cholesky_solve_rt(rf_simd simd, int32_t n, const double *u, int32_t ld,
                                const double *b, double *x) {
  RF_SIMD_CALL(simd, rf_dense_cholesky_solve, n, u, ld, b, x);
}

void rf_dense_half_solve_rt(rf_simd simd, int32_t n, const double *u, int32_t ld, int32_t ldb,
                            double *b) {
  RF_SIMD_CALL(simd, rf_dense_half_solve, n, u, ld, ldb, b);
}

void rf_dense_multiply_rt(rf_simd simd, int32_t n, const double *a, int32_t ld, const double *x,
                          double *y) {
  RF_SIMD_CALL(simd, rf_dense_multiply, n, a, ld, x, y);
}

void rf_dense_combine_rt(rf_simd simd, int32_t n, double p, const double *a, double q,
                         const double *b, int32_t ld, double *out) {
  RF_SIMD_CALL(simd, rf_dense_combine_upper, n, p, a, q, b, ld, out);
}

void rf_dense_add_products_rt(rf_simd simd, int32_t m, int32_t n, int32_t count, const double *a,
                              int32_t lda, const double *b, int32_t ld, double *out) {
  RF_SIMD_CALL(simd, rf_dense_add_products, m, n, count, a, lda, b, ld, out);
}

bool rf_dense_eliminate_rt(rf_simd simd, int32_t n, double *a, int32_t ld, double *scratch,
                           double *x) {
  return RF_SIMD_CALL(simd, rf_dense_eliminate, n, a, ld, scratch, x);
}
