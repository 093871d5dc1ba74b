// Kernels of cubatures, AVX-512 variant.
#include "cubature/points_rt.h"

#if RF_SIMD_X86
#pragma GCC target("avx512f,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512")
#define LANES 8
#define VARIANT avx512_rt
#include "cubature/points_body.h"
#endif
