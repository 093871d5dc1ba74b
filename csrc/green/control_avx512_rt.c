// Sums over fields of control elements, AVX-512 variant.
#include "linalg/simd.h"

#if RF_SIMD_X86
#pragma GCC target("avx512f,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512")
#define RF_WIDTH 8
#define RF_NAME(f) f##_avx512_rt
#include "green/control_body.h"
#endif
