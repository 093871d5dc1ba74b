// Element kernels: one call works on the elements at `lanes` places, one element a
// SIMD lane.  What happens in a lane does not depend on its place or neighbours.
#ifndef RF_FEM_KERNELS_H
#define RF_FEM_KERNELS_H

#include <stdint.h>

#include "fem/fem.h"
#include "fem/shape.h"

enum { RF_MAX_LANES = 8, RF_MAX_PAIRS = RF_MAX_NODES * (RF_MAX_NODES + 1) / 2 };

// Results of one call.  In energy and force lanes run fastest, with stride
// rf_kernels.lanes; tangent blocks lie lane by lane, for adding them up block by block.
typedef struct rf_lane_results {
  _Alignas(64) double energy[RF_MAX_LANES];
  _Alignas(64) double force[RF_MAX_NODES * 3 * RF_MAX_LANES];    // (nodes, 3, lanes)
  _Alignas(64) double tangent[RF_MAX_LANES * RF_MAX_PAIRS * 9];  // (lanes, pairs a <= b, 3, 3)
} rf_lane_results;

typedef struct rf_kernels {
  int lanes;
  // energy, force and, if asked for, tangent of `lanes` elements
  void (*elastic)(const rf_solid *s, const int32_t *places, const double *u, bool tangent,
                  rf_lane_results *out);
  // the force-like vector (H:a)b of `lanes` elements
  void (*hessian)(const rf_solid *s, const int32_t *places, const double *a, const double *b,
                  double *out);
  // strain-rate damping: power, force and, if asked for, matrix in the places of energy,
  // force and tangent; viscosity as in rf_solid_damping
  void (*viscous)(const rf_solid *s, const double *viscosity, const int32_t *places,
                  const double *u, const double *v, bool matrix, rf_lane_results *out);
} rf_kernels;

// For the variant, the element type and the law of the solid.
rf_kernels rf_kernels_for(const rf_solid *s);

#endif
