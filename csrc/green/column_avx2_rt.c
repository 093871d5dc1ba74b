// Columns of Green's functions, AVX2 variant.
#include "linalg/simd.h"

#if RF_SIMD_X86
#pragma GCC target("avx2,fma")
#define RF_JOIN(f) f##_avx2_rt
#define RF_NAME(f) RF_JOIN(f)
#include "green/column_body.h"
#endif
