// Strain-rate damping of a reduced model (B07 2.34 to 2.38): f~ = D~(q) q' with a damping matrix
// that is a quadratic polynomial in q.
//
// With q^ = (1, q_1 .. q_r) the strain is E = sum over pairs a <= b of q^_a q^_b E_ab, up to a
// factor 1/2 for a = b, E_0b = sym grad U_b and E_ab = sym(grad U_a^T grad U_b).  So
// dE/dq_i = sum_a q^_a E_ia, and with G_(ia)(jb) = int phi tr E_ia tr E_jb + 2 psi E_ia : E_jb,
// the Gram matrix of the energy's polynomial with phi and psi for lambda and mu,
//
//   D~_ij = sum_ab q^_a q^_b G_(ia)(jb) = sum_ab B_(ij)(ab) q^_a q^_b,
//   B_(ij)(ab) = (G_(ia)(jb) + G_(ib)(ja)) / 2.
//
// B is symmetric over pairs of indices 0 .. r and determines G, so its triangle contains no
// redundancy; the kernel of small energy polynomials, which multiplies such a matrix by the
// products q^_a q^_b, gives D~ in about r^4 / 8 multiply-adds.
#ifndef RF_POLYNOMIAL_DAMPING_H
#define RF_POLYNOMIAL_DAMPING_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/simd.h"

typedef struct rf_solid rf_solid;

enum { RF_DAMPING_MAX_R = 128 };  // 0.3 GB

typedef struct rf_damping {
  int32_t r;  // reduced coordinates
  rf_simd simd;
  int64_t count;  // m (m + 1) / 2, m = r + r (r + 1) / 2
  double *gram;   // G over pairs (0,b), then (a,b) with 1 <= a <= b; lower triangle, row by row
  int64_t stream_count;
  double *stream;  // B in tiles, in the kernel's order
} rf_damping;

int64_t rf_damping_count(int32_t r);

// Copies G and packs it for the variant; rejects non-finite numbers and negative squares, which no
// Gram matrix contains.
RF_MUST_CHECK rf_status rf_damping_create(int32_t r, const double *gram, rf_simd simd,
                                          rf_damping **out, rf_error *err);
// Creates the damping of the first r_new coordinates.
RF_MUST_CHECK rf_status rf_damping_truncate(const rf_damping *d, int32_t r_new, rf_damping **out,
                                            rf_error *err);
void rf_damping_free(rf_damping *d);  // NULL is allowed

// Computes G (rf_damping_count) of the solid in the span of basis (r, n, 3); viscosity: phi and psi
// of each material, Pa s (n_materials, 2).
RF_MUST_CHECK rf_status rf_damping_build(const rf_solid *solid, const rf_run *run, int32_t r,
                                         const double *basis, const double *viscosity, rf_simd simd,
                                         double *gram, rf_error *err);

// Returns the work memory of one evaluation (64-byte aligned, need not be cleared).
size_t rf_damping_work_bytes(int32_t r);

// Computes D~(q), r rows of ld >= r doubles, full, symmetric.
void rf_damping_matrix_rt(const rf_damping *d, const double *q, void *work, double *matrix,
                          int32_t ld);

#endif
