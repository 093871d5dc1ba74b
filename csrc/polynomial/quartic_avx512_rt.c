// Quartic kernels, avx512 variant.
#include "linalg/simd.h"

#if RF_SIMD_X86
#pragma GCC target("avx512f,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512")
#define RF_WIDTH 8
#define RF_QUARTIC rf_quartic_avx512_rt
#define RF_QUARTIC_FINISH rf_quartic_finish_avx512_rt
#define RF_PAIRS rf_pairs_avx512_rt
#include "polynomial/quartic_body.h"
#endif
