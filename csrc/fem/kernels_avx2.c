// Element kernels, AVX2 variant.
#include <math.h>
#include <string.h>

#include "fem/kernels.h"

#if RF_SIMD_X86
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#define VARIANT RF_SIMD_AVX2
#include "fem/kernels_list_body.h"
#endif
