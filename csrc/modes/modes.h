// Linear vibration modes and modal derivatives of  M x'' + C(x) = f  about x = 0.
//
// A system is given by operators: M, the inverse of its tangent K = dC/dx and the second derivative
// H of C. A held solid is one such system, with the displacements of its free nodes (n_free, 3) in
// ascending order as unknowns; matrices given by a user are another.
//
//   K psi_j = lambda_j M psi_j,  psi_i^T M psi_j = delta_ij          (B07 2.43)
//   K phi_ij = -(H : psi_j) psi_i = K phi_ji                         (B07 2.47)
//
// phi neglects inertia and is therefore symmetric; phi_ij is the second derivative of the static
// response to the loads M psi_i lambda_i p_i (B07 2.55). K must be nonsingular.
//
// K of a free solid has the six rigid motions as null space.  Its modes are the elastic ones,
// M-orthogonal to them, and its derivatives include inertia (B07 2.60):
//
//   (K - lambda_i M) phi_ij = (M psi_i psi_i^T - 1) (H : psi_j) psi_i,  psi_i^T M phi_ij = 0
#ifndef RF_MODES_MODES_H
#define RF_MODES_MODES_H

#include <stdint.h>

#include "base/status.h"
#include "fem/fem.h"
#include "fem/rigid.h"
#include "linalg/cholesky.h"
#include "linalg/csc.h"
#include "linalg/eigen.h"

// Computes out_p = (H : a_p) b_p for count pairs of vectors.
typedef rf_status (*rf_hessian_fn)(void *context, const rf_run *run, int32_t count,
                                   const double *const *a, const double *const *b,
                                   double *const *out, rf_error *err);

typedef struct rf_modes_system {
  rf_eigen_problem operators;  // its context serves the Hessian too
  rf_hessian_fn hessian;       // nullable if no derivatives are needed
} rf_modes_system;

// Creates the system of a held solid, or of a free one in one piece: one factorization of K, for a
// free solid with six statically determinate supports.  Its solve maps loads to motions without
// rigid part.  The solid must outlive it.
typedef struct rf_modes_solid rf_modes_solid;
RF_MUST_CHECK rf_status rf_modes_solid_create(const rf_solid *solid, const rf_run *run,
                                              rf_modes_solid **out, rf_error *err);
void rf_modes_solid_free(rf_modes_solid *s);  // NULL is allowed
const rf_modes_system *rf_modes_solid_system(const rf_modes_solid *s);
// Returns the factor of K over the free nodes; of a free solid, with its six supports.
const rf_cholesky *rf_modes_solid_factor(const rf_modes_solid *s);
// Returns the M-orthonormal rigid motions of a free solid (6, n_free, 3); NULL for a held one.
const double *rf_modes_solid_rigid(const rf_modes_solid *s);

// Creates a system of two matrices, given as lower triangles, K positive definite.  M must outlive
// it.
typedef struct rf_modes_matrices rf_modes_matrices;
RF_MUST_CHECK rf_status rf_modes_matrices_create(const rf_csc *stiffness, const rf_csc *mass,
                                                 const rf_run *run, rf_modes_matrices **out,
                                                 rf_error *err);
void rf_modes_matrices_free(rf_modes_matrices *m);  // NULL is allowed
const rf_modes_system *rf_modes_matrices_system(const rf_modes_matrices *m);

// Computes modes in the convention of linalg/convention.h: eigenvalues (k) in 1/s^2, shapes (k, n).
RF_MUST_CHECK rf_status rf_modes_linear(const rf_modes_system *system, const rf_run *run, int32_t k,
                                        double *eigenvalues, double *shapes, rf_error *err);

// Computes sqrt(lambda) / (2 pi), Hz; 0 for eigenvalues made negative by rounding.
void rf_modes_frequencies(int32_t k, const double *eigenvalues, double *frequencies);

// Returns the largest number of modes available for a solid: its degrees of freedom less one, and
// less six for a free solid.
static inline int32_t rf_modes_most(const rf_solid *solid) {
  return 3 * solid->n_free - (solid->n_fixed == 0 ? 6 : 0) - 1;
}

// Returns the number of derivatives of k modes; pairs (i <= j) are stored row by row.
static inline int64_t rf_modes_pairs(int32_t k) { return (int64_t)k * (k + 1) / 2; }

// The same for a solid; if it is free, phi_ij and phi_ji differ.
static inline int64_t rf_modes_solid_pairs(const rf_solid *solid, int32_t k) {
  return solid->n_fixed == 0 ? (int64_t)k * k : rf_modes_pairs(k);
}

// Computes derivatives (rf_modes_pairs(k), n) for the directions shapes (k, n), K nonsingular.
RF_MUST_CHECK rf_status rf_modes_derivatives(const rf_modes_system *system, const rf_run *run,
                                             int32_t k, const double *shapes, double *derivatives,
                                             rf_error *err);

// Computes those of the pairs begin .. end - 1: (end - begin, n).  begin is a multiple of
// RF_CHOLESKY_BLOCK, and so is end unless it is the number of pairs; then they have the same bits.
RF_MUST_CHECK rf_status rf_modes_derivatives_of(const rf_modes_system *system, const rf_run *run,
                                                int32_t k, const double *shapes, int64_t begin,
                                                int64_t end, double *derivatives, rf_error *err);

// Computes derivatives (k, k, n) of k modes of a free solid, K singular: phi_ij at [i][j]. shapes
// (k, n) must be its modes (to 1e-6); the rigid motions come from the solid.  If lambda_i is
// repeated, parts of the right-hand sides along its eigenspace, which have no solution, are
// removed, and so is that space from phi_ij.
typedef struct rf_free_report {
  int32_t extra_modes;  // extra modes computed for better conditioning
  int32_t solves;       // right-hand sides solved for
  int32_t iterations;   // largest number of any pair
} rf_free_report;
RF_MUST_CHECK rf_status rf_modes_free_derivatives(const rf_modes_solid *solid, const rf_run *run,
                                                  int32_t k, const double *shapes,
                                                  double *derivatives, rf_free_report *report,
                                                  rf_error *err);

// The same for fields over all nodes: shapes (k, n_nodes, 3), zero at fixed nodes; derivatives
// (rf_modes_solid_pairs(k), n_nodes, 3).
RF_MUST_CHECK rf_status rf_modes_solid_derivatives(const rf_solid *solid, const rf_run *run,
                                                   int32_t k, const double *shapes,
                                                   double *derivatives, rf_error *err);

// The same for the pairs begin .. end - 1 of a solid with fixed nodes and its system.
RF_MUST_CHECK rf_status rf_modes_held_derivatives(const rf_modes_solid *modes,
                                                  const rf_solid *solid, const rf_run *run,
                                                  int32_t k, const double *shapes, int64_t begin,
                                                  int64_t end, double *derivatives, rf_error *err);

// Computes the static response of k modes (k, n_nodes, 3) to forces (count, 3) at some nodes plus
// modal forces p (k; nullable: zero): u = sum_j psi_j (psi_j.f + p_j) / lambda_j, the linear model
// of B07 2.8.2. Outputs: `coordinates` (k) and u (n_nodes, 3).
RF_MUST_CHECK rf_status rf_modes_response(int32_t k, int32_t n_nodes, const double *eigenvalues,
                                          const double *shapes, int32_t count, const int32_t *node,
                                          const double *force, const double *modal,
                                          double *coordinates, double *u, rf_error *err);

// Computes diagonals (n_free, 3) that order repeated modes: mass times 1, 2, 3 along x, y, z (so
// motion along x comes first), then, for pairs left undecided because a rotation of less than 90
// degrees maps one to the other, mass times an asymmetric function of position.
enum { RF_MODES_WEIGHTS = 2 };
void rf_modes_weights(const rf_solid *solid, double *by_axis, double *by_place);

// Expands vectors over free nodes to vectors over all nodes, zero at fixed ones, in place:
// `vectors` has room for (count, n_nodes, 3) and contains (count, n_free, 3) at its front.
RF_MUST_CHECK rf_status rf_modes_expand(const rf_solid *solid, int64_t count, double *vectors,
                                        rf_error *err);

#endif
