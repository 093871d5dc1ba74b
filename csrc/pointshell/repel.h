// Repulsive forces between points in the cells of rf_cells, by vectors of four.
//
// The variants, one per repel_<variant>.c, give the same bits.
#ifndef RF_POINTSHELL_REPEL_H
#define RF_POINTSHELL_REPEL_H

#include <stdint.h>

#include "linalg/simd.h"
#include "pointshell/cells.h"

// Points of the cells near one cell, in the order of the cells.
typedef struct rf_repel_points {
  double reach;         // R, m
  const double *at[3];  // coordinates, m; padded by four points
  const double *point;  // coordinates, 0, unit normal, 0        (n, 8)
  const int32_t *item;  // number of each point                  (n)
  int32_t n_runs;
  rf_cells_run run[RF_CELLS_RUNS];
} rf_repel_points;

// Computes the force on point `self`, relative to the force at distance zero; returns its
// stiffness, 1/m.
typedef double rf_repel_fn(const rf_repel_points *p, int32_t self, double force[3]);
rf_repel_fn rf_repel_plain, rf_repel_avx2;

static inline rf_repel_fn *rf_repel_best(void) {
#if RF_SIMD_X86
  if (rf_simd_available(RF_SIMD_AVX2)) return rf_repel_avx2;
#endif
  return rf_repel_plain;
}

#endif
