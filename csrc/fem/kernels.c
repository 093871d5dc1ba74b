// The element kernels, compiled once for each instruction set.
#include "fem/kernels.h"

#include <math.h>
#include <string.h>

// Symmetric matrices in the order xx yy zz yz zx xy.
static const int ROW_OF[6] = {0, 1, 2, 1, 2, 0}, COLUMN_OF[6] = {0, 1, 2, 2, 0, 1};

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

// Kernels of a variant for one element type.
#define KERNELS(variant, type)                                                                 \
  (general ? (rf_kernels){find_##variant, linear_##type##_##variant,                           \
                          hessian_linear_##type##_##variant, viscous_##type##_##variant}       \
           : (rf_kernels){find_##variant, stvk_##type##_##variant, hessian_##type##_##variant, \
                          viscous_##type##_##variant})

// Kernels of a variant for the element type of the mesh and its quadrature.
#define CHOOSE(variant)                                 \
  switch (s->mesh->type) {                              \
    case RF_TET4: return KERNELS(variant, tet);         \
    case RF_TET10: return KERNELS(variant, tet10);      \
    case RF_HEX20: return KERNELS(variant, hex20);      \
    default:                                            \
      if (s->first_point) return KERNELS(variant, cut); \
      return KERNELS(variant, hex);                     \
  }

rf_kernels rf_kernels_for(const rf_solid *s) {
  const bool general = s->elasticity != NULL;
  switch (s->simd) {
#if RF_SIMD_X86
    case RF_SIMD_AVX512: CHOOSE(avx512);
    case RF_SIMD_AVX2: CHOOSE(avx2);
#endif
    default: CHOOSE(plain);
  }
}
