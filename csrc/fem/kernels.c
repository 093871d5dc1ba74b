// Element kernels of St.Venant-Kirchhoff, of general linear laws, of any law and of strain-rate
// damping, compiled once for each instruction set.
#include "fem/kernels.h"

#include <math.h>
#include <string.h>

// Symmetric matrices in the order xx yy zz yz zx xy.
static const int ROW_OF[6] = {0, 1, 2, 1, 2, 0}, COLUMN_OF[6] = {0, 1, 2, 2, 0, 1};

// The element types of kernels: nodes, and quadrature points.
#define FOR_EACH_TYPE(ROW, of) \
  ROW(of, tet, 4, 1)           \
  ROW(of, hex, 8, OF_SOLID)    \
  ROW(of, cut, 8, OF_BATCH)    \
  ROW(of, tet10, 10, OF_SOLID) \
  ROW(of, hex20, 20, OF_BATCH)

// A kernel for one of them.
#define ELASTIC(of, type, nodes, points)                                              \
  KERNEL NAME(of##_##type)(const rf_solid *s, const int32_t *places, const double *u, \
                           const rf_lane_targets *tangent, rf_lane_results *out) {    \
    NAME(of)(nodes, points, s, places, u, tangent, out);                              \
  }
#define HESSIAN(of, type, nodes, points)                                              \
  KERNEL NAME(of##_##type)(const rf_solid *s, const int32_t *places, const double *a, \
                           const double *b, double *out) {                            \
    NAME(of)(nodes, points, s, places, a, b, out);                                    \
  }
#define VISCOUS(of, type, nodes, points)                                                      \
  KERNEL NAME(of##_##type)(const rf_solid *s, const double *viscosity, const int32_t *places, \
                           const double *u, const double *v, const rf_lane_targets *matrix,   \
                           rf_lane_results *out) {                                            \
    NAME(of)(nodes, points, s, viscosity, places, u, v, matrix, out);                         \
  }

#define LANES 2
#define TARGET
#define NAME(x) x##_plain
#define VARIANT RF_SIMD_PLAIN
#include "fem/kernels_list_body.h"

#if RF_SIMD_X86
#define LANES 4
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_avx2
#define VARIANT RF_SIMD_AVX2
#include "fem/kernels_list_body.h"

#define LANES 8
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define NAME(x) x##_avx512
#define VARIANT RF_SIMD_AVX512
#include "fem/kernels_list_body.h"
#endif

// Kernels of a variant for one element type.
#define KERNELS(variant, type)                                                                 \
  switch (of) {                                                                                \
    case RF_LAW_KERNELS_STVK:                                                                  \
      return (rf_kernels){find_##variant, stvk_##type##_##variant, hessian_##type##_##variant, \
                          viscous_##type##_##variant};                                         \
    case RF_LAW_KERNELS_LINEAR:                                                                \
      return (rf_kernels){find_##variant, linear_##type##_##variant,                           \
                          hessian_linear_##type##_##variant, viscous_##type##_##variant};      \
    default:                                                                                   \
      return (rf_kernels){find_##variant, general_##type##_##variant,                          \
                          hessian_general_##type##_##variant, viscous_##type##_##variant};     \
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
  for (int k = 0; k < RF_LAW_COUNT; ++k) kernels[k] = kernels_of(s, rf_laws[k].facts->kernels);
}
