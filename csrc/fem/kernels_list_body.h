// Template: all kernels for one instruction set.  Included by kernels_plain.c and its like after
// fem/kernels.h, with LANES, TARGET, NAME(x) and VARIANT (an rf_simd) defined.  No include guard,
// on purpose.  A source per instruction set lets these long compilations run side by side.

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
#define DEFINITE(of, type, nodes, points)                                             \
  KERNEL NAME(of##_##type)(const rf_solid *s, const int32_t *places, const double *u, \
                           rf_lane_targets *tangent) {                                \
    NAME(of)(nodes, points, s, places, u, tangent);                                   \
  }

#include "fem/kernels_common_body.h"
#include "fem/kernels_stvk_body.h"

#include "fem/kernels_linear_body.h"
#include "fem/kernels_viscous_body.h"

#include "fem/kernels_general_body.h"

#include "fem/kernels_definite_body.h"

// Kernels for one element type.
#define KERNELS(type)                                                                     \
  switch (of) {                                                                           \
    case RF_LAW_KERNELS_STVK:                                                             \
      return (rf_kernels){NAME(find), NAME(stvk_##type), NAME(hessian_##type),            \
                          NAME(viscous_##type), NAME(definite_##type)};                   \
    case RF_LAW_KERNELS_LINEAR:                                                           \
      return (rf_kernels){NAME(find), NAME(linear_##type), NAME(hessian_linear_##type),   \
                          NAME(viscous_##type), NAME(definite_##type)};                   \
    default:                                                                              \
      return (rf_kernels){NAME(find), NAME(general_##type), NAME(hessian_general_##type), \
                          NAME(viscous_##type), NAME(definite_##type)};                   \
  }

rf_kernels NAME(rf_kernels_of)(const rf_solid *s, rf_law_kernels of) {
  switch (s->mesh->type) {
    case RF_TET4: KERNELS(tet);
    case RF_TET10: KERNELS(tet10);
    case RF_HEX20: KERNELS(hex20);
    default:
      if (s->first_point) KERNELS(cut);
      KERNELS(hex);
  }
}
