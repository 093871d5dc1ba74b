// Coupled cycle: solves for the motion of the field object and the steps of all deforming bodies
// together.  This is the (6 + r) x (6 + r) system that B07 leaves for later (end of 4.2), for any
// number of shells, and for a field object that deforms.
//
// With y = (dx, dw) the motion of the object in a cycle, o = (y, dq_f) with the change of its
// coordinates, dq_k that of shell k, the contacts' blocks G, B_k, D_k of -sum c W W^T
// (contact/wrench.h), the matrices S of the steps (dynamics/newton.h, with residuals rho
// under the contacts' forces), the balances of the object, its coordinates and each shell are
//
//     (G_coupling + G_yy) y + G_yf dq_f + sum_k B_yk dq_k = -(F, T)_coupling - (F, T)
//
//     -G_fy y + (S_f - G_ff) dq_f - sum_k B_fk dq_k = -rho_f
//
//     -B_ky y - B_kf dq_f + (S_k - D_k) dq_k = -rho_k
//
// Shells are eliminated one by one, dq_k = a_k + Z_k o with (S_k - D_k) (a_k, Z_k) = (-rho_k,
// B_k^T), then dq_f likewise.  The coupling gets a contact with a condensed force and gradient and
// moves the object as usual: degenerate directions and largest speeds
// (render/virtual_coupling.h) are those of the condensed system.  Then the field, and after it
// the shells, make their steps under the forces of that motion as limited, so that the final states
// are consistent.
//
// The elimination uses one step of a whole period.  A simulation with shorter steps makes them
// while the object moves evenly; each includes the stiffness from contact.  rf_body_whole_step
// replaces them in the elimination.
//
// The blocks are multiplied by the factor `damped`, 3: in a cycle of length h this adds a damper of
// 2 k h at each point, between the two bodies.  Schemes may have no damping of their own, and
// light bodies would bounce on each other for ever; at rest the damper has no effect.  Shorter
// steps follow the solve less closely, which the factor magnifies: it is 2 then.  Where the damped
// contact would hold back a hand that leaves, the cycle is solved again without the damper.
//
// If a matrix is not positive definite, the elimination fails and each body moves alone.
#ifndef RF_WORLD_COUPLED_H
#define RF_WORLD_COUPLED_H

#include "base/status.h"
#include "dynamics/motion.h"
#include "world/world.h"

// A deforming body.
typedef struct rf_coupled_body {
  rf_body *of;        // its load and motion, borrowed; NULL: rigid or at rest
  rf_motion *body;    // the motion of it
  rf_motion *whole;   // replaces shorter steps by one of a period; NULL: not needed; owned
  double *added;      // stiffness added by contact                            (rows of ld)
  double *force;      // contact force at the beginning of the cycle           (ld)
  double *increment;  // a, above; then the change of q in the cycle           (ld)
  double *response;   // Z, transposed                                         (rows of ld)
  double *more;       // change of the contact force by the motion             (ld)
} rf_coupled_body;

typedef struct rf_coupled_part {
  rf_coupled_body shell;
  rf_contact_blocks blocks;  // of the pair in this cycle, borrowed
} rf_coupled_part;

typedef struct rf_coupled {
  int32_t n_parts, n_object, rows;  // n_object: 6 + r of the field; rows: rf_dense_ld of it
  rf_coupled_part *part;            // of the pairs                              (n_parts)
  rf_coupled_body field;
  double damped;   // factor of the blocks for the damping of contact
  double *object;  // G + sum of B Z                              (rows, rows)
  double *pull;    // sum of B a: force on the object (rows)
  double *mixed;   // G_yf, shells eliminated         (6, ld of the field)
  double *motion;  // o                                           (rows)
} rf_coupled;

// Functions of the solver (world/solver.h).  All pairs must have the same body with the field, the
// object, and each a shell of its own whose frame does not move.

// Condenses the load of the contacts: adds the responses of all deforming bodies to wrench and
// gradient.  `again`: second solve of the same cycle, without the damping of contact.
// RF_ERR_SINGULAR: nothing is changed and the cycle must be split.
RF_MUST_CHECK rf_status rf_coupled_condense_rt(void *self, rf_world *world, bool again,
                                               double wrench[6], double gradient[36]);
// Makes the steps of all bodies after the motion `move` of the object.
RF_MUST_CHECK rf_status rf_coupled_finish_rt(void *self, rf_world *world, const double move[6]);
// Precomputes what the next cycle needs from the states alone.
void rf_coupled_prepare_rt(void *self);

#endif
