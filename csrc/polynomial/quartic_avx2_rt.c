// Quartic kernels, avx2 variant.
#include "linalg/simd.h"

#if RF_SIMD_X86
#pragma GCC target("avx2,fma")
#define RF_WIDTH 4
#define RF_QUARTIC rf_quartic_avx2_rt
#define RF_QUARTIC_FINISH rf_quartic_finish_avx2_rt
#define RF_PAIRS rf_pairs_avx2_rt
#include "polynomial/quartic_body.h"
#endif
