#include "linalg/tridiagonal.h"

void rf_tridiagonal_reduce_rt(rf_simd simd, int32_t n, double *a, int32_t ld, double *diagonal,
                              double *beside, double *work) {
  RF_SIMD_CALL(simd, rf_tridiagonal_reduce, n, a, ld, diagonal, beside, work);
}

void rf_tridiagonal_into_rt(rf_simd simd, int32_t n, const double *a, int32_t ld, double *x) {
  RF_SIMD_CALL(simd, rf_tridiagonal_into, n, a, ld, x);
}

void rf_tridiagonal_back_rt(rf_simd simd, int32_t n, const double *a, int32_t ld, double *x) {
  RF_SIMD_CALL(simd, rf_tridiagonal_back, n, a, ld, x);
}
