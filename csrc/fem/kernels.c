// The element kernels, compiled once for each instruction set.
#include "fem/kernels.h"

#include <math.h>
#include <string.h>

#define LANES 2
#define TARGET
#define NAME(x) x##_plain
#include "fem/kernels_body.h"
#undef LANES
#undef TARGET
#undef NAME

#if RF_SIMD_X86
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#include "fem/kernels_body.h"
#undef LANES
#undef TARGET
#undef NAME

#define LANES 8
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define NAME(x) x##_avx512
#include "fem/kernels_body.h"
#undef LANES
#undef TARGET
#undef NAME
#endif

rf_kernels rf_kernels_for(rf_simd simd, rf_element_type type) {
  const bool tet = type == RF_TET4;
  switch (simd) {
#if RF_SIMD_X86
    case RF_SIMD_AVX512:
      return (rf_kernels){8, tet ? stvk_tet_avx512 : stvk_hex_avx512,
                          tet ? hessian_tet_avx512 : hessian_hex_avx512};
    case RF_SIMD_AVX2:
      return (rf_kernels){4, tet ? stvk_tet_avx2 : stvk_hex_avx2,
                          tet ? hessian_tet_avx2 : hessian_hex_avx2};
#endif
    default:
      return (rf_kernels){2, tet ? stvk_tet_plain : stvk_hex_plain,
                          tet ? hessian_tet_plain : hessian_hex_plain};
  }
}
