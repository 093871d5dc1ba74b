// Element kernels, AVX-512 variant.
#include <math.h>
#include <string.h>

#include "fem/kernels.h"

#if RF_SIMD_X86
#define LANES 8
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define NAME(x) x##_avx512
#define VARIANT RF_SIMD_AVX512
#include "fem/kernels_list_body.h"
#endif
