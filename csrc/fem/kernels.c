// Element kernels of St.Venant-Kirchhoff and general linear laws, and of strain-rate damping,
// compiled once for each instruction set.
#include "fem/kernels.h"

#include <math.h>
#include <string.h>

// Symmetric matrices in the order xx yy zz yz zx xy.
static const int ROW_OF[6] = {0, 1, 2, 1, 2, 0}, COLUMN_OF[6] = {0, 1, 2, 2, 0, 1};

#define LANES 2
#define TARGET
#define NAME(x) x##_plain
#include "fem/kernels_common_body.h"
#include "fem/kernels_stvk_body.h"

#include "fem/kernels_linear_body.h"
#include "fem/kernels_viscous_body.h"
#undef LANES
#undef TARGET
#undef NAME

#if RF_SIMD_X86
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#include "fem/kernels_common_body.h"
#include "fem/kernels_stvk_body.h"

#include "fem/kernels_linear_body.h"
#include "fem/kernels_viscous_body.h"
#undef LANES
#undef TARGET
#undef NAME

#define LANES 8
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define NAME(x) x##_avx512
#include "fem/kernels_common_body.h"
#include "fem/kernels_stvk_body.h"

#include "fem/kernels_linear_body.h"
#include "fem/kernels_viscous_body.h"
#undef LANES
#undef TARGET
#undef NAME
#endif

// Kernels of a variant for one element type; those of a general law come from elsewhere.
#define KERNELS(variant, type)                                                                 \
  switch (of) {                                                                                \
    case RF_LAW_KERNELS_STVK:                                                                  \
      return (rf_kernels){find_##variant, stvk_##type##_##variant, hessian_##type##_##variant, \
                          viscous_##type##_##variant};                                         \
    case RF_LAW_KERNELS_LINEAR:                                                                \
      return (rf_kernels){find_##variant, linear_##type##_##variant,                           \
                          hessian_linear_##type##_##variant, viscous_##type##_##variant};      \
    default: return (rf_kernels){NULL, NULL, NULL, viscous_##type##_##variant};                \
  }

// Kernels of a variant for the element type of the mesh and its quadrature.
#define CHOOSE(variant)                          \
  switch (s->mesh->type) {                       \
    case RF_TET4: KERNELS(variant, tet);         \
    case RF_TET10: KERNELS(variant, tet10);      \
    case RF_HEX20: KERNELS(variant, hex20);      \
    default:                                     \
      if (s->first_point) KERNELS(variant, cut); \
      KERNELS(variant, hex);                     \
  }

static rf_kernels kernels_of(const rf_solid *s, rf_law_kernels of) {
  switch (s->simd) {
#if RF_SIMD_X86
    case RF_SIMD_AVX512: CHOOSE(avx512);
    case RF_SIMD_AVX2: CHOOSE(avx2);
#endif
    default: CHOOSE(plain);
  }
}

void rf_kernels_for(const rf_solid *s, rf_kernels kernels[RF_LAW_COUNT]) {
  for (int k = 0; k < RF_LAW_COUNT; ++k) {
    const rf_law_kernels of = rf_laws[k].facts->kernels;
    kernels[k] = kernels_of(s, of);
    if (of == RF_LAW_KERNELS_GENERAL) rf_kernels_set_general(s, &kernels[k]);
  }
}
