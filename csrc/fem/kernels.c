// The element kernels, compiled once for each instruction set.
#include "fem/kernels.h"

#include <math.h>
#include <string.h>

#define LANES 2
#define TARGET
#define NAME(x) x##_plain
#include "fem/kernels_body.h"
#include "fem/kernels_linear_body.h"
#include "fem/kernels_viscous_body.h"
#undef LANES
#undef TARGET
#undef NAME

#if RF_SIMD_X86
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#include "fem/kernels_body.h"
#include "fem/kernels_linear_body.h"
#include "fem/kernels_viscous_body.h"
#undef LANES
#undef TARGET
#undef NAME

#define LANES 8
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define NAME(x) x##_avx512
#include "fem/kernels_body.h"
#include "fem/kernels_linear_body.h"
#include "fem/kernels_viscous_body.h"
#undef LANES
#undef TARGET
#undef NAME
#endif

// the kernels of a variant for one element type
#define KERNELS(lanes, variant, type)                                                          \
  (general ? (rf_kernels){lanes, linear_##type##_##variant, hessian_linear_##type##_##variant, \
                          viscous_##type##_##variant}                                          \
           : (rf_kernels){lanes, stvk_##type##_##variant, hessian_##type##_##variant,          \
                          viscous_##type##_##variant})

// those of a variant for the element type of the mesh and its quadrature
#define CHOOSE(lanes, variant)                                 \
  switch (s->mesh->type) {                                     \
    case RF_TET4: return KERNELS(lanes, variant, tet);         \
    case RF_TET10: return KERNELS(lanes, variant, tet10);      \
    case RF_HEX20: return KERNELS(lanes, variant, hex20);      \
    default:                                                   \
      if (s->first_point) return KERNELS(lanes, variant, cut); \
      return KERNELS(lanes, variant, hex);                     \
  }

rf_kernels rf_kernels_for(const rf_solid *s) {
  const bool general = s->elasticity != NULL;
  switch (s->simd) {
#if RF_SIMD_X86
    case RF_SIMD_AVX512: CHOOSE(8, avx512);
    case RF_SIMD_AVX2: CHOOSE(4, avx2);
#endif
    default: CHOOSE(2, plain);
  }
}
