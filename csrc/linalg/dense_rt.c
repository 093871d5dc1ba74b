#include "linalg/dense_rt.h"

#include <math.h>

bool rf_dense_cholesky_rt(rf_simd simd, int32_t n, double *a, int32_t ld) {
  switch (simd) {
#if RF_SIMD_X86
    case RF_SIMD_AVX512: return rf_cholesky_avx512_rt(n, a, ld);
    case RF_SIMD_AVX2: return rf_cholesky_avx2_rt(n, a, ld);
#endif
    default: return rf_cholesky_plain_rt(n, a, ld);
  }
}

void rf_dense_cholesky_solve_rt(rf_simd simd, int32_t n, const double *u, int32_t ld,
                                const double *b, double *x) {
  switch (simd) {
#if RF_SIMD_X86
    case RF_SIMD_AVX512: rf_cholesky_solve_avx512_rt(n, u, ld, b, x); break;
    case RF_SIMD_AVX2: rf_cholesky_solve_avx2_rt(n, u, ld, b, x); break;
#endif
    default: rf_cholesky_solve_plain_rt(n, u, ld, b, x); break;
  }
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

void rf_dense_multiply_rt(int32_t n, const double *a, int32_t ld, const double *x, double *y) {
  for (int32_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for (int32_t c = 0; c < n; ++c) sum += a[i * ld + c] * x[c];
    y[i] = sum;
  }
}
