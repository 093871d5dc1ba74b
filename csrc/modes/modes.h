// Linear vibration modes and modal derivatives of  M x'' + C(x) = f  about x = 0.
//
// A system is known by operators: M, the inverse of its tangent K = dC/dx and the second
// derivative H of C.  A held solid is one such system, its unknowns the displacements of
// its free nodes (n_free, 3) in ascending order; matrices given by a user are another.
//
//   K psi_j = lambda_j M psi_j,  psi_i^T M psi_j = delta_ij          (B07 2.43)
//   K phi_ij = -(H : psi_j) psi_i = K phi_ji                         (B07 2.47)
//
// Inertia is neglected in phi, hence its symmetry; phi_ij is the second derivative of the
// static response to the loads M psi_i lambda_i p_i (B07 2.55).  This needs a nonsingular K.
//
// K of a free solid has the six rigid motions as null space.  Its modes are the elastic ones,
// M-orthogonal to them, and its derivatives keep inertia (B07 2.60):
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

// out_p = (H : a_p) b_p for count pairs of vectors.
typedef rf_status (*rf_hessian_fn)(void *context, const rf_run *run, int32_t count,
                                   const double *const *a, const double *const *b,
                                   double *const *out, rf_error *err);

typedef struct rf_modes_system {
  rf_eigen_problem operators;  // its context serves the Hessian too
  rf_hessian_fn hessian;       // nullable when no derivatives are wanted
} rf_modes_system;

// A held solid, or a free one in one piece, as a system: one factorization of K, of a free
// solid with six supports that carry nothing.  Its solve maps loads to motions without rigid
// part.  The solid must outlive it.
typedef struct rf_modes_solid rf_modes_solid;
RF_MUST_CHECK rf_status rf_modes_solid_create(const rf_solid *solid, const rf_run *run,
                                              rf_modes_solid **out, rf_error *err);
void rf_modes_solid_free(rf_modes_solid *s);  // NULL is fine
const rf_modes_system *rf_modes_solid_system(const rf_modes_solid *s);
// M-orthonormal rigid motions of a free solid (6, n_nodes, 3); NULL of a held one.
const double *rf_modes_solid_rigid(const rf_modes_solid *s);

// Two matrices as a system, lower triangles, K positive definite.  M must outlive it.
typedef struct rf_modes_matrices rf_modes_matrices;
RF_MUST_CHECK rf_status rf_modes_matrices_create(const rf_csc *stiffness, const rf_csc *mass,
                                                 const rf_run *run, rf_modes_matrices **out,
                                                 rf_error *err);
void rf_modes_matrices_free(rf_modes_matrices *m);  // NULL is fine
const rf_modes_system *rf_modes_matrices_system(const rf_modes_matrices *m);

// Modes in the convention of linalg/convention.h: eigenvalues (k) in 1/s^2, shapes (k, n).
RF_MUST_CHECK rf_status rf_modes_linear(const rf_modes_system *system, const rf_run *run, int32_t k,
                                        double *eigenvalues, double *shapes, rf_error *err);

// sqrt(lambda) / (2 pi), Hz; 0 for what rounding made negative.
void rf_modes_frequencies(int32_t k, const double *eigenvalues, double *frequencies);

// Most modes that a solid can be asked for: its degrees of freedom less one; the six rigid
// motions of a free solid do not count.
static inline int32_t rf_modes_most(const rf_solid *solid) {
  return 3 * solid->n_free - (solid->n_fixed == 0 ? 6 : 0) - 1;
}

// Number of derivatives of k modes; pairs (i <= j) follow row by row.
static inline int64_t rf_modes_pairs(int32_t k) { return (int64_t)k * (k + 1) / 2; }

// The same for a solid: of a free one phi_ij and phi_ji differ.
static inline int64_t rf_modes_solid_pairs(const rf_solid *solid, int32_t k) {
  return solid->n_fixed == 0 ? (int64_t)k * k : rf_modes_pairs(k);
}

// derivatives (rf_modes_pairs(k), n) of the directions shapes (k, n), K nonsingular.
RF_MUST_CHECK rf_status rf_modes_derivatives(const rf_modes_system *system, const rf_run *run,
                                             int32_t k, const double *shapes, double *derivatives,
                                             rf_error *err);

// derivatives (k, k, n) of k modes of a free solid with K singular: phi_ij at [i][j].
// shapes (k, n) must be its modes (to 1e-6); rigid motions and `rigid` of them come from the
// solid.  Where lambda_i is repeated, the parts of the right-hand sides along its space, which
// have no solution, are left out, and so is that space from phi_ij.
typedef struct rf_free_report {
  int32_t extra_modes;  // computed to make the rest well conditioned
  int32_t solves;       // right-hand sides
  int32_t iterations;   // most of any pair
} rf_free_report;
RF_MUST_CHECK rf_status rf_modes_free_derivatives(const rf_modes_solid *solid, const rf_run *run,
                                                  int32_t k, const double *shapes,
                                                  double *derivatives, rf_free_report *report,
                                                  rf_error *err);

// The same for fields over all nodes: shapes (k, n_nodes, 3), zero at fixed nodes, in;
// derivatives (rf_modes_solid_pairs(k), n_nodes, 3) out.
RF_MUST_CHECK rf_status rf_modes_solid_derivatives(const rf_solid *solid, const rf_run *run,
                                                   int32_t k, const double *shapes,
                                                   double *derivatives, rf_error *err);

// The static response of k modes (k, n_nodes, 3) to forces (count, 3) at some nodes, plus what
// the modal forces (k; nullable: none) add: u = sum_j psi_j (psi_j.f + p_j) / lambda_j, the linear
// model of B07 2.8.2.  `coordinates` (k) and u (n_nodes, 3) out.
RF_MUST_CHECK rf_status rf_modes_response(int32_t k, int32_t n_nodes, const double *eigenvalues,
                                          const double *shapes, int32_t count, const int32_t *node,
                                          const double *force, const double *modal,
                                          double *coordinates, double *u, rf_error *err);

// Diagonals (n_free, 3) that tell repeated modes apart: mass times 1, 2, 3 along x, y, z (so
// what moves along x comes first), then, for pairs which that cannot order because a turn of
// less than 90 degrees maps one to the other, mass times a function of position without any
// symmetry.
enum { RF_MODES_WEIGHTS = 2 };
void rf_modes_weights(const rf_solid *solid, double *by_axis, double *by_place);

// Vectors over free nodes at the front of a buffer become vectors over all nodes, zero at
// fixed ones: `vectors` has room for (count, n_nodes, 3) and holds (count, n_free, 3).
RF_MUST_CHECK rf_status rf_modes_expand(const rf_solid *solid, int64_t count, double *vectors,
                                        rf_error *err);

#endif
