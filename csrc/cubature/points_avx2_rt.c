// Kernels of cubatures, AVX2 variant.
#include "cubature/points_rt.h"

#if RF_SIMD_X86
#pragma GCC target("avx2,fma")
#define LANES 4
#define VARIANT avx2_rt
#include "cubature/points_body.h"
#endif
