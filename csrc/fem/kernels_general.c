// Element kernels of any law, compiled once for each instruction set.
#include <string.h>

#include "fem/kernels.h"

#define LANES 2
#define TARGET
#define NAME(x) x##_plain
#define VARIANT RF_SIMD_PLAIN
#include "fem/kernels_common_body.h"
#include "fem/kernels_general_body.h"
#undef LANES
#undef TARGET
#undef NAME
#undef VARIANT

#if RF_SIMD_X86
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#define VARIANT RF_SIMD_AVX2
#include "fem/kernels_common_body.h"
#include "fem/kernels_general_body.h"
#undef LANES
#undef TARGET
#undef NAME
#undef VARIANT

#define LANES 8
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define NAME(x) x##_avx512
#define VARIANT RF_SIMD_AVX512
#include "fem/kernels_common_body.h"
#include "fem/kernels_general_body.h"
#endif

#define SET(variant, type)                                 \
  do {                                                     \
    kernels->find = find_##variant;                        \
    kernels->elastic = general_##type##_##variant;         \
    kernels->hessian = hessian_general_##type##_##variant; \
    return;                                                \
  } while (0)

#define CHOOSE(variant)                      \
  switch (s->mesh->type) {                   \
    case RF_TET4: SET(variant, tet);         \
    case RF_TET10: SET(variant, tet10);      \
    case RF_HEX20: SET(variant, hex20);      \
    default:                                 \
      if (s->first_point) SET(variant, cut); \
      SET(variant, hex);                     \
  }

void rf_kernels_set_general(const rf_solid *s, rf_kernels *kernels) {
  switch (s->simd) {
#if RF_SIMD_X86
    case RF_SIMD_AVX512: CHOOSE(avx512);
    case RF_SIMD_AVX2: CHOOSE(avx2);
#endif
    default: CHOOSE(plain);
  }
}
