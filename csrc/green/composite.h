// Composite bodies: a solid cut into blocks, each linear in a frame that turns with it (Nikitin et
// al., Real-time simulation of elastic objects in Virtual Environments, 2002, appendix 3a).
//
// Outer nodes are those that several blocks share, the fixed ones and those that may be held; a
// block eliminates its inner nodes from its stiffness at rest, D = K_bb - K_bi K_ii^-1 K_ib.  With
// A_i = X_i - mean X of its outer nodes and the rotation R that fits them best,
//
//   d_i = R^T (x_i - mean x) - A_i,  W = d^T D d / 2
//
// Equilibria are minima of the sum of W less the work of dead loads.  Loads f of inner nodes are
// R^T f in the frame, linear in the entries r of R: with F_c the field of r_c = 1, s_c its response
// with the outer nodes held, L_c = -K_bi s_c, Q_cd = F_c . s_d, N_c = F_c . A and f the sum,
//
//   E = W - (L r) . d - r^T Q r / 2 - N . (r - 1) - f . (mean x - mean X)
//
// Derivatives.  y = A + d, S = sum y A^T (symmetric), G = (tr(S) 1 - S)^-1.  Motions R v of the
// outer nodes turn the frame by w = B^T v, B_i = -[A_i]x G, and d' = v - mean v - w x y, so that
//
//   h = D d - L r,  t_k = T : R [e_k]x,  T = L^T d + Q r + N,  l = G (sum y x h + t)
//   gradient: R p_i,  p_i = h_i - l x A_i
//   Hessian:  R (D + X B^T + B X^T + B M B^T) R^T,  X = C - U - D Y,  (Y w)_i = w x y_i,
//   (C w)_i = w x h_i + l x (A_i x w),  U = L J,  J_k = R [e_k]x,  Z = R^T T,
//   M = Y^T D Y + G^-1 [l]x - C^T Y + Y^T U + U^T Y - J^T Q J - Z + tr(Z) 1
//
// Without C, U, Z and l it is semidefinite: the tangent where the Hessian is not definite.
//
// d = R^T (v - mean v) + (R - 1)^T A keeps the digits of small motions: an error of R by rounding
// is a rotation, which D does not see.  Forces D d have errors of EPS |D| times the larger of the
// terms: `rounding`.  An equilibrium to within their sum is accepted after a step, with a residual
// above the tolerance.
#ifndef RF_GREEN_COMPOSITE_H
#define RF_GREEN_COMPOSITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/cholesky.h"

struct rf_solid;

enum {
  RF_COMPOSITE_MOST_BLOCKS = 100000,
  RF_COMPOSITE_MOST_OUTER = 4000  // nodes of a block: its D takes 8 (3 n)^2 bytes
};

typedef struct rf_composite_settings {
  int32_t n_blocks;
  const int32_t *block;  // of each element                 (n_elements)
  int32_t n_holdable;
  const int32_t *holdable;  // nodes that may be held          (n_holdable)
} rf_composite_settings;

typedef struct rf_composite_block {
  int32_t n_outer, n_inner;
  int32_t *outer;       // index in the list of outer nodes, ascending (n_outer)
  int32_t *inner;       // nodes, ascending                            (n_inner)
  double mean[3];       // of the outer nodes at rest, m
  double *arm;          // A, m                                        (n_outer, 3)
  double *stiffness;    // D, N/m                           (3 n_outer, 3 n_outer)
  double rounding;      // bound of the error of D d by rounding, of terms of 1 m, N/m
  rf_cholesky *factor;  // of K_ii; NULL without inner nodes
  int32_t *ptr, *col;   // K_bi by outer nodes: inner nodes by index   (n_outer + 1)
  double *coupling;     // blocks of K_bi                              (ptr[n_outer], 3, 3)
} rf_composite_block;

typedef struct rf_composite {
  int32_t n_nodes, n_outer, n_blocks;
  double *rest;               // of all nodes, m                              (n_nodes, 3)
  int32_t *outer;             // outer nodes, ascending                       (n_outer)
  int32_t *outer_of;          // index among them, -1: inner                  (n_nodes)
  bool *fixed;                //                                              (n_outer)
  int32_t *ptr;               // range of an outer node in `member`           (n_outer + 1)
  int32_t *member;            // blocks of an outer node, and its index there (ptr[n_outer], 2)
  rf_composite_block *block;  // (n_blocks)
} rf_composite;

RF_MUST_CHECK rf_status rf_composite_create(const struct rf_solid *solid,
                                            const rf_composite_settings *set, const rf_run *run,
                                            rf_composite **out, rf_error *err);
void rf_composite_free(rf_composite *c);  // NULL is allowed
int64_t rf_composite_bytes(const rf_composite *c);

typedef struct rf_composite_problem {
  const double *force;   // loads, N                          (n_nodes, 3), NULL: none
  const uint8_t *held;   // directions held, besides those of fixed nodes  (n_outer, 3)
  const double *target;  // displacements of these, m         (n_outer, 3)
  const double *start;   // displacements to start from, m    (n_nodes, 3), NULL: rest
  const uint8_t *soft;   // outer nodes that `firm` leaves out             (n_outer), NULL: none
  double tolerance;      // of the residual, relative to the loads and the forces on blocks
  int32_t newton_max;
} rf_composite_problem;

typedef struct rf_composite_report {
  int32_t iterations;
  bool stable;      // the Hessian is positive definite
  double energy;    // of the strain, J
  double residual;  // relative
  double angle;     // largest between blocks that share nodes, rad
  double strain;    // largest |d| of a block, by its largest |A|
  double firm;      // the same, |d| of the other nodes than soft ones
} rf_composite_report;

// Computes the displacements u (n_nodes, 3), rotations of the blocks (n_blocks, 9), and the forces
// that hold the outer nodes (n_outer, 3), zero along free directions.  RF_ERR_NO_CONVERGENCE.
RF_MUST_CHECK rf_status rf_composite_solve(const rf_composite *c, const rf_run *run,
                                           const rf_composite_problem *problem, double *u,
                                           double *turn, double *reaction,
                                           rf_composite_report *report, rf_error *err);

// Computes the potential (1), its gradient (n_outer, 3) and a row-major tangent (3 n_outer)^2 at
// displacements v of the outer nodes (n_outer, 3); `definite`: without the indefinite terms.
RF_MUST_CHECK rf_status rf_composite_evaluate(const rf_composite *c, const rf_run *run,
                                              const double *force, const double *v, bool definite,
                                              double *potential, double *gradient, double *tangent,
                                              rf_error *err);

#endif
