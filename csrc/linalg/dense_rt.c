#include "linalg/dense_rt.h"

#include <math.h>

bool rf_dense_cholesky_rt(rf_simd simd, int32_t n, double *a, int32_t ld) {
  return RF_SIMD_CALL(simd, rf_dense_cholesky, n, a, ld);
}

void rf_dense_cholesky_solve_rt(rf_simd simd, int32_t n, const double *u, int32_t ld,
                                const double *b, double *x) {
  RF_SIMD_CALL(simd, rf_dense_cholesky_solve, n, u, ld, b, x);
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

static void swap_rows(int32_t n, double *p, double *q) {
  for (int32_t c = 0; c < n; ++c) {
    const double keep = p[c];
    p[c] = q[c];
    q[c] = keep;
  }
}

bool rf_dense_lu_solve_rt(int32_t n, double *a, int32_t ld, double *x) {
  for (int32_t k = 0; k < n; ++k) {
    int32_t best = k;
    for (int32_t i = k + 1; i < n; ++i)
      if (fabs(a[i * ld + k]) > fabs(a[best * ld + k])) best = i;
    if (!(fabs(a[best * ld + k]) > 0.0)) return false;
    if (best != k) {
      swap_rows(n, a + k * ld, a + best * ld);
      swap_rows(1, x + k, x + best);
    }
    for (int32_t i = k + 1; i < n; ++i) {
      const double factor = a[i * ld + k] / a[k * ld + k];
      for (int32_t c = k + 1; c < n; ++c) a[i * ld + c] -= factor * a[k * ld + c];
      x[i] -= factor * x[k];
    }
  }
  for (int32_t i = n - 1; i >= 0; --i) {
    double sum = x[i];
    for (int32_t c = i + 1; c < n; ++c) sum -= a[i * ld + c] * x[c];
    x[i] = sum / a[i * ld + i];
  }
  return true;
}
