// Motion bases: mass-PCA of deformations, and the basis of linear modes and modal
// derivatives.
//
// Mass-PCA (B07 2.8.1) finds the r directions, through the origin, that minimise the projection
// error of the vectors D in the metric |x|^2 = x^T M x, M the consistent mass.  With M = P^T L L^T
// P over the free nodes (alike on the three axes):
//
//   Z = L^T P D = Q R,  R = V S W^T,  U = P^T L^-T Q V_r,  U^T M U = 1
//
// A QR factorization and the SVD of R preserve full accuracy; the Gram matrix D^T M D would lose
// half of the digits.
//
// Equal singular values, typical of symmetric solids, do not determine their vectors.
// linalg/convention.h selects them, after completing a value cut by r, so that the vectors depend
// neither on rounding nor on the order of D.
//
// The basis from modal derivatives (B07 2.8.3) is the mass-PCA of
//
//   (lambda_1 / lambda_j) psi_j   and   (lambda_1^2 / (lambda_i lambda_j)) phi_ij,  i <= j
//
// (2.52) with phi_ij first scaled to unit mass norm, as in B07 below 2.48. Otherwise the result
// would depend on the unit of length: psi is in kg^-1/2, phi in kg^-1 m^-1.
#ifndef RF_BASIS_BASIS_H
#define RF_BASIS_BASIS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "modes/modes.h"  // and through it the solid

typedef struct rf_basis {
  int32_t r, n_nodes;
  double *vectors;  // mass-orthonormal, 1/sqrt(kg)       (r, n_nodes, 3)
  int32_t n_spectrum;
  double *spectrum;  // singular values, descending        (n_spectrum)
} rf_basis;

void rf_basis_free(rf_basis *basis);  // leaves an empty basis

// Creates a basis of `count` deformations (count, n_nodes, 3), zero at fixed nodes, each multiplied
// by its weight (nullable: 1). r must not exceed their numerical rank; with at_most it is lowered
// to it.
RF_MUST_CHECK rf_status rf_basis_mass_pca(const rf_solid *solid, const rf_run *run, int32_t count,
                                          const double *vectors, const double *weights, int32_t r,
                                          bool at_most, rf_basis *out, rf_error *err);

// Creates a basis from k modes of a held or free solid and all their derivatives; r and at_most as
// above; eigenvalues (k) in 1/s^2. A basis of a free solid is M-orthogonal to its rigid motions.
RF_MUST_CHECK rf_status rf_basis_modal_derivatives(const rf_solid *solid, const rf_run *run,
                                                   int32_t k, int32_t r, bool at_most,
                                                   double *eigenvalues, rf_basis *out,
                                                   rf_error *err);

// The same, of a held solid, with eigenvalues (k), modes (k, n_nodes, 3) and derivatives
// (rf_modes_pairs(k), n_nodes, 3) that are known.
RF_MUST_CHECK rf_status rf_basis_of_derivatives(const rf_solid *solid, const rf_run *run, int32_t k,
                                                int32_t r, bool at_most, const double *eigenvalues,
                                                const double *shapes, const double *derivatives,
                                                rf_basis *out, rf_error *err);

// Applies the factors of 2.52 in place to shapes (k, n) and derivatives (pairs, n; for a free solid
// (k, k, n)) over the system's unknowns.  Derivatives whose mass norm is rounding (1e-10 of the
// largest) are set to zero.
RF_MUST_CHECK rf_status rf_basis_scale(const rf_modes_system *system, const rf_run *run, int32_t k,
                                       const double *eigenvalues, double *shapes,
                                       double *derivatives, rf_error *err);

// The same for a system of matrices (B07 2.8.5), over its unknowns; `mass` is the lower triangle.
// Replaces vectors (count, n), each multiplied by its weight (nullable: 1), by their principal
// directions (*r, n) at the front; the rest is scratch.  spectrum has min(count, n) values.
RF_MUST_CHECK rf_status rf_basis_system_pca(const rf_modes_system *system, const rf_csc *mass,
                                            const rf_run *run, int32_t count, const double *weights,
                                            double *vectors, bool at_most, int32_t *r,
                                            double *spectrum, rf_error *err);
// The same from k modes and their derivatives.  Outputs: vectors (k + rf_modes_pairs(k), n) and
// eigenvalues (k).
RF_MUST_CHECK rf_status rf_basis_system_derivatives(const rf_modes_system *system,
                                                    const rf_csc *mass, const rf_run *run,
                                                    int32_t k, bool at_most, int32_t *r,
                                                    double *eigenvalues, double *vectors,
                                                    double *spectrum, rf_error *err);

#endif
