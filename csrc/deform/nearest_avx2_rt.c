// Nearest proxies, avx2 variant: without fma, so that it rounds as the plain one does.
#include "linalg/simd.h"

#if RF_SIMD_X86
#pragma GCC target("avx2")
#define RF_WIDTH 4
#define RF_NAME(f) f##_avx2_rt
#include "deform/nearest_body.h"
#endif
