// Element kernels: one call processes the elements at `lanes` places, one element per SIMD lane,
// all of one law.  The result of a lane does not depend on its place or neighbours.
//
// St.Venant-Kirchhoff and general linear laws have kernels of their own; one more serves every law
// by its body in material/, and one corrects tangents of every law where points are indefinite. All
// are compiled for each element type and instruction set.
#ifndef RF_FEM_KERNELS_H
#define RF_FEM_KERNELS_H

#include <stdint.h>

#include "fem/fem.h"
#include "fem/shape.h"

enum { RF_MAX_LANES = 8, RF_MAX_PAIRS = RF_MAX_NODES * (RF_MAX_NODES + 1) / 2 };

// Results of one call; lanes vary fastest, with stride rf_solid_lanes.
typedef struct rf_lane_results {
  _Alignas(64) double energy[RF_MAX_LANES];
  _Alignas(64) double force[RF_MAX_NODES * 3 * RF_MAX_LANES];  // (nodes, 3, lanes)
} rf_lane_results;

// Addresses of the tangent blocks to which the blocks of the elements' node pairs a <= b are added;
// a lane whose blocks are not needed gets the address of `unused`.
typedef struct rf_lane_targets {
  _Alignas(
      64) int64_t turned[RF_MAX_PAIRS * RF_MAX_LANES];   // -1: transposed, else 0 (pairs, lanes)
  _Alignas(64) int64_t to[RF_MAX_PAIRS * RF_MAX_LANES];  // (pairs, lanes)
  double unused[9];
} rf_lane_targets;

typedef struct rf_kernels {
  // finds and prefetches the tangent blocks of the elements from a place on
  void (*find)(const rf_solid *s, int32_t place, double *tangent, rf_lane_targets *out);
  // energy and force of `lanes` elements; their tangents are added to `tangent`, if given
  void (*elastic)(const rf_solid *s, const int32_t *places, const double *u,
                  const rf_lane_targets *tangent, rf_lane_results *out);
  // force-like vector (H:a)b of `lanes` elements
  void (*hessian)(const rf_solid *s, const int32_t *places, const double *a, const double *b,
                  double *out);
  // strain-rate damping: power, force and matrix take the roles of energy, force and tangent;
  // viscosity as in rf_solid_damping
  void (*viscous)(const rf_solid *s, const double *viscosity, const int32_t *places,
                  const double *u, const double *v, const rf_lane_targets *matrix,
                  rf_lane_results *out);
  // adds to the tangents of `lanes` elements what makes the Hessian of every point positive
  // semidefinite; targets of elements that need nothing become `unused`
  void (*definite)(const rf_solid *s, const int32_t *places, const double *u,
                   rf_lane_targets *tangent);
} rf_kernels;

// Returns the kernels of one instruction set for the element type of the solid.
rf_kernels rf_kernels_of_plain(const rf_solid *s, rf_law_kernels of);
#if RF_SIMD_X86
rf_kernels rf_kernels_of_avx2(const rf_solid *s, rf_law_kernels of);
rf_kernels rf_kernels_of_avx512(const rf_solid *s, rf_law_kernels of);
#endif

// Selects the kernels of each law of the list for the variant and the element type of the solid.
void rf_kernels_for(const rf_solid *s, rf_kernels kernels[RF_LAW_COUNT]);

#endif
