// Kernels of the Gram matrix: strains of all pairs of reduced coordinates at one quadrature point.
#ifndef RF_POLYNOMIAL_STRAIN_H
#define RF_POLYNOMIAL_STRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/simd.h"

enum { RF_STRAINS = 6 };  // components of a strain: xx yy zz yz zx xy

// Factor C = L L^T of the energy e.C e / 2, e the strain with doubled shears (Voigt), times the
// root of the point's volume.  Column i of L has rows i .. 5. An isotropic material couples normal
// strains only: the rest of L is then diagonal.
typedef struct rf_strain_factor {
  double l[6][6];  // l[i][k], k >= i: row k of column i; rows of shears are doubled, as the kernels
                   // compute tensor strains
  bool coupled;    // couples more than the normal strains
} rf_strain_factor;

// Computes g[(3 c + x) r + i] = d(U_i)_c / dx at a point with shape function gradients phi (nodes,
// 3); u[a] is the basis at node a, (3, r).
typedef void rf_strain_gradients_fn(int32_t nodes, int32_t r, const double *phi,
                                    const double *const *u, double *g);

// Computes six columns, of r + r (r + 1) / 2 numbers each, of L^T E: first the pairs (0, b) with E
// = sym(G_b), then, for a <= b, (a, b) with E = (G_a^T G_b + G_b^T G_a) / 2, halved if a = b.
typedef void rf_strain_columns_fn(int32_t r, const rf_strain_factor *f, const double *g,
                                  double *column);

typedef struct rf_strain_kernels {
  rf_strain_gradients_fn *gradients;
  rf_strain_columns_fn *columns;
} rf_strain_kernels;

rf_strain_gradients_fn rf_strain_gradients_plain, rf_strain_gradients_avx2,
    rf_strain_gradients_avx512;
rf_strain_columns_fn rf_strain_columns_plain, rf_strain_columns_avx2, rf_strain_columns_avx512;

#endif
