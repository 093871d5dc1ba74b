// Reduced strain energy as one homogeneous quartic form, with its force and stiffness.
//
// With q^ = (1, q_1 .. q_r) the energy of a St.Venant-Kirchhoff solid in the subspace u = U q is
// W(q) = sum_{i<=j<=k<=l} t_ijkl q^_i q^_j q^_k q^_l over indices 0 .. r: index 0 once gives the
// cubic, twice the quadratic terms.  Each of the C(r+4, 4) coefficients is stored once (B07 2.6.4
// stores each up to three times). Differentiation by index positions gives the Hessian H + H^T with
//   H_il += t q_j q_k   H_jk += t q_i q_l   H_ij += t q_k q_l
//   H_ik += t q_j q_l   H_kl += t q_i q_j   H_jl += t q_i q_k,
// also for coinciding indices.  For fixed (j, k) the coefficients form a rectangle i <= j, l >= k;
// its row sums w_i = sum_l t q_l and column sums z_l = sum_i t q_i serve four of the six terms, so
// a coefficient costs three multiply-adds and is read once.  Force and energy follow by Euler's
// theorem: R = K^ q^ / 3 and W = q^ . R^ / 4.
//
// For few coordinates the rectangles are too short for this to pay; there the kernel multiplies the
// symmetric matrix over index pairs (B07 2.6.4: every coefficient up to three times, 0.8 MB at r =
// 28) by the products q^_c q^_d.  Stored and saved coefficients are the same, only rounding
// differs.  The pair matrix is used up to r = RF_POLYNOMIAL_PAIRS_R, and beyond as long as it fits
// into the second-level cache.
#ifndef RF_POLYNOMIAL_POLYNOMIAL_H
#define RF_POLYNOMIAL_POLYNOMIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/simd.h"
#include "polynomial/gram.h"

enum { RF_POLYNOMIAL_MAX_R = 256, RF_POLYNOMIAL_PAIRS_R = 28, RF_POLYNOMIAL_PAIRS_MAX_R = 40 };

typedef struct rf_polynomial {
  int32_t r;            // reduced coordinates
  int64_t count;        // C(r + 4, 4)
  double *coefficient;  // t_ijkl, 0 <= i <= j <= k <= l <= r, lexicographic   (count)
  rf_simd simd;         // kernel variant of the stream
  bool pairs;           // the stream is the matrix over index pairs; follows from r and simd
  int64_t stream_count;
  double *stream;  // the same numbers in the kernel's order, padded to vectors
} rf_polynomial;

// Returns the index of t_ijkl, i <= j <= k <= l, in `coefficient`.
int64_t rf_polynomial_index(int32_t r, int32_t i, int32_t j, int32_t k, int32_t l);

// Returns the number of coefficients, C(r + 4, 4).
int64_t rf_polynomial_count(int32_t r);

// Copies the coefficients, which must be finite, and packs them for the variant.
RF_MUST_CHECK rf_status rf_polynomial_create(int32_t r, const double *coefficient, rf_simd simd,
                                             rf_polynomial **out, rf_error *err);
// Creates the polynomial of the first r_new coordinates.
RF_MUST_CHECK rf_status rf_polynomial_truncate(const rf_polynomial *p, int32_t r_new,
                                               rf_polynomial **out, rf_error *err);
void rf_polynomial_free(rf_polynomial *p);  // NULL is allowed

// Computes the coefficients of the energy of `solid` in the span of `basis` (r, n, 3), which need
// not vanish at fixed nodes.
//
// At a quadrature point E = sum_{(a,b)} z_ab E_ab is linear in the pair products
// z_ab = q^_a q^_b, so W = z^T G z / 2 with G = sum_gp w E^T C E: one symmetric
// rank-k update over blocks of quadrature points, at the speed of dsyrk.  The coefficients of
// blocks of elements (polynomial/gram.h) are added in the order of the blocks.  `blocks`: this sum
// if it is known already, otherwise NULL.
RF_MUST_CHECK rf_status rf_polynomial_build(const rf_solid *solid, const rf_run *run, int32_t r,
                                            const double *basis, const double *blocks, rf_simd simd,
                                            double *coefficient, rf_error *err);

// Parts of the sum, for other machines: the factor and the modulus of the ghost penalty of each
// material (n_materials), the coefficients of one block, and total += part.
RF_MUST_CHECK rf_status rf_polynomial_factors(const rf_solid *solid, rf_strain_factor *factor,
                                              double *modulus, rf_error *err);
RF_MUST_CHECK rf_status rf_polynomial_block(const rf_gram_block *block, const rf_run *run,
                                            const rf_strain_factor *factor, rf_simd simd,
                                            double *coefficient, rf_error *err);
void rf_polynomial_add(int64_t count, const double *part, double *total);

// Computes one part of the energy, which is linear in the constants of the materials (B07 2.11):
// for an isotropic material it is lambda times the part RF_PART_LAMBDA plus mu times RF_PART_MU,
// each for a constant of 1; RF_PART_WHOLE is the complete energy of a material.  Includes only
// elements of this material.
typedef enum rf_part { RF_PART_WHOLE, RF_PART_LAMBDA, RF_PART_MU } rf_part;
RF_MUST_CHECK rf_status rf_polynomial_build_part(const rf_solid *solid, const rf_run *run,
                                                 int32_t r, const double *basis, rf_simd simd,
                                                 int32_t material, rf_part part,
                                                 double *coefficient, rf_error *err);

// Creates the weighted sum of `count` >= 1 polynomials of equal r and variant; NULL entries count
// as zero, but at least one must be given.
RF_MUST_CHECK rf_status rf_polynomial_combine(int32_t count, rf_polynomial *const *parts,
                                              const double *weights, rf_polynomial **out,
                                              rf_error *err);

// Returns the work memory of one evaluation (64-byte aligned, need not be cleared).
size_t rf_polynomial_work_bytes(int32_t r);

// Computes energy (1), force (r) and stiffness (r rows of `ld` >= r doubles, full symmetric), each
// unless NULL. Omitting the stiffness saves a third of the work.  Non-finite coordinates give
// non-finite outputs.
void rf_polynomial_evaluate_rt(const rf_polynomial *p, const double *q, void *work, double *energy,
                               double *force, double *stiffness, int32_t ld);

#endif
