// Sums over fields of control elements, AVX2 variant.
#include "linalg/simd.h"

#if RF_SIMD_X86
#pragma GCC target("avx2,fma")
#define RF_WIDTH 4
#define RF_NAME(f) f##_avx2_rt
#include "green/control_body.h"
#endif
