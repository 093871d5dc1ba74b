// Dense Cholesky kernels, avx2 variant.
#include "linalg/simd.h"

#if RF_SIMD_X86
#pragma GCC target("avx2,fma")
#define RF_WIDTH 4
#define RF_CHOLESKY rf_cholesky_avx2_rt
#define RF_CHOLESKY_SOLVE rf_cholesky_solve_avx2_rt
#include "linalg/dense_body.h"
#endif
