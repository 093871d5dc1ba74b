// Selects the kernels of a solid among those of all instruction sets.
#include "fem/kernels.h"

static rf_kernels kernels_of(const rf_solid *s, rf_law_kernels of) {
  switch (s->simd) {
#if RF_SIMD_X86
    case RF_SIMD_AVX512: return rf_kernels_of_avx512(s, of);
    case RF_SIMD_AVX2: return rf_kernels_of_avx2(s, of);
#endif
    default: return rf_kernels_of_plain(s, of);
  }
}

void rf_kernels_for(const rf_solid *s, rf_kernels kernels[RF_LAW_COUNT]) {
  for (int k = 0; k < RF_LAW_COUNT; ++k) kernels[k] = kernels_of(s, rf_laws[k].facts->kernels);
}
