// A cycle in which the motion of the field object and the step of the shell are solved for
// together: the (6 + r) x (6 + r) system that B07 leaves for later (end of 4.2).
//
// With the motion y = (dx, dw) of the object in a cycle, the change dq of the shell's coordinates,
// the contact's blocks B = d(F, T)/dq, C = df/dy and D = df/dq (contact/penalty.h) and the matrix S
// of Newmark's step (integrator/newmark.h, with residual rho under the contact's force f),
//     [ G_coupling + G_contact    B     ] [ y  ]     [ -(F, T)_coupling - (F, T)_contact ]
//     [          -C             S - D_s ] [ dq ]  =  [ -rho                              ],
// D_s the symmetric part of D: all of it where the contact's gradient has g = N.  The shell's rows
// are eliminated, dq = dq_0 + Z y with (S - D_s) (dq_0, Z) = (-rho, C): what the coupling then sees
// is a contact whose force has grown by B dq_0 and whose gradient by B Z, and it moves the object
// as it always does: directions that are degenerate, largest speeds and static damping
// (coupling/virtual_coupling.h) are those of the condensed system.  The shell makes its step under
// the force of that motion, the damped and limited one, so that both end where they saw each other.
//
// Where S - D_s is not positive definite there is nothing to eliminate with, and the cycle is the
// split one.
#ifndef RF_HAPTIC_COUPLED_H
#define RF_HAPTIC_COUPLED_H

#include "base/status.h"
#include "contact/penalty.h"
#include "coupling/virtual_coupling.h"
#include "integrator/newmark.h"

typedef struct rf_coupled {
  rf_newmark *shell;         // borrowed
  rf_penalty_blocks blocks;  // of the contact of this cycle, set by who evaluates it
  double *stiffness;         // -D_s                                            (rows of ld)
  double *increment;         // dq_0                                            (ld)
  double *response;          // Z, transposed                                   (6, ld)
  double *more;              // C y                                             (ld)
} rf_coupled;

RF_MUST_CHECK rf_status rf_coupled_create(rf_newmark *shell, rf_coupled **out, rf_error *err);
void rf_coupled_free(rf_coupled *c);  // NULL is fine

// Adds to the load of the contact what the shell's answer makes of it.  RF_ERR_SINGULAR: the load
// is as it was, and the step has to be made without.  `reduced`: the contact's force on the shell.
RF_MUST_CHECK rf_status rf_coupled_condense_rt(rf_coupled *c, const double *reduced,
                                               rf_coupling_load *load);
// The shell's step, after the object has made a motion.
RF_MUST_CHECK rf_status rf_coupled_finish_rt(rf_coupled *c, const double move[6]);

#endif
