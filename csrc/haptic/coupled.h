// A cycle in which the motion of the field object and the steps of all that deforms are solved for
// together: the (6 + r) x (6 + r) system that B07 leaves for later (end of 4.2), for any number of
// shells, and for a field object that deforms.
//
// With y = (dx, dw) the motion of the object in a cycle, o = (y, dq_f) with the change of its
// coordinates, dq_k that of shell k, the contacts' blocks G, B_k, D_k of -sum c W W^T
// (contact/wrench.h), the matrices S of Newmark's steps (dynamics/newton.h, with residuals rho
// under the contacts' forces), the balances of the object, its coordinates and each shell are
//
//     (G_coupling + G_yy) y + G_yf dq_f + sum_k B_yk dq_k = -(F, T)_coupling - (F, T)
//
//     -G_fy y + (S_f - G_ff) dq_f - sum_k B_fk dq_k = -rho_f
//
//     -B_ky y - B_kf dq_f + (S_k - D_k) dq_k = -rho_k
//
// Shells are eliminated one by one, dq_k = a_k + Z_k o with (S_k - D_k) (a_k, Z_k) = (-rho_k,
// B_k^T), then dq_f likewise: the coupling sees a contact with a changed force and gradient, and
// moves the object as it always does: directions that are degenerate and largest speeds
// (coupling/virtual_coupling.h) are those of the condensed system.  Then the field, and after it
// the shells, make their steps under the forces of that motion, the limited one, so that all end
// where they saw each other.
//
// The elimination is that of one step of a whole period.  A simulation with shorter steps makes
// them while the motion goes on evenly; its stiffness from contact is in each of them.  The step
// that stands for them has Newmark's beta = 1/2 and gamma = 1: the acceleration is that of the end
// throughout.  The scheme's own would begin with the acceleration of the last short step and carry
// its oscillation through the whole period.
//
// The blocks are taken larger than they are, by the factor `damped`, 3: in a cycle of length h that
// is a damper of 2 k h beside each point, between the two bodies.  Newmark's scheme damps nothing
// of its own, and light bodies would bounce on each other for ever; nothing changes at rest.
// Shorter steps follow the solve less closely, which the factor magnifies: it is 2 then.  Where the
// damped contact would hold back a hand that leaves, the cycle is solved again without the damper.
//
// A matrix that is not positive definite cannot be eliminated with: the cycle is then the split
// one.
#ifndef RF_HAPTIC_COUPLED_H
#define RF_HAPTIC_COUPLED_H

#include "base/status.h"
#include "contact/penalty.h"
#include "coupling/virtual_coupling.h"
#include "dynamics/motion.h"

enum { RF_COUPLED_MOST_PARTS = 16 };

// Something that deforms.
typedef struct rf_coupled_body {
  rf_motion *body;   // borrowed; NULL: it does not
  rf_motion *whole;  // one step of a period in its place, where it has shorter ones; owned
  int64_t steps;      // of the body in a period
  double *added;      // what contact adds to its stiffness                    (rows of ld)
  double *force;      // of contact, at the beginning of the cycle             (ld)
  double *increment;  // a, above; then the change in the cycle                (ld)
  double *response;   // Z, transposed                                         (rows of ld)
  double *more;       // force by the motion                                   (ld)
} rf_coupled_body;

typedef struct rf_coupled_part {
  rf_coupled_body shell;
  rf_contact_blocks blocks;  // of the contact of this cycle, set by who evaluates it
  bool in_contact;           // any of these is asked for
} rf_coupled_part;

typedef struct rf_coupled {
  int32_t n_parts, n_object, rows;  // n_object: 6 + r of the field; rows: rf_dense_ld of it
  rf_coupled_part part[RF_COUPLED_MOST_PARTS];
  rf_coupled_body field;
  double damped;   // stiffness of contact and its damping in a cycle, over the stiffness
  double *object;  // G + sum of B Z                              (rows, rows)
  double *pull;    // sum of B a: on the object                   (rows)
  double *mixed;   // G_yf of these                               (6, ld of the field)
  double *motion;  // o                                           (rows)
} rf_coupled;

// Of the shells (n_parts; NULL: at rest or rigid), and the field object (nullable); all are
// borrowed, with so many steps each in a period.
RF_MUST_CHECK rf_status rf_coupled_create(double period_s, int32_t n_parts,
                                          rf_motion *const *shells, const int64_t *steps,
                                          rf_motion *field, int64_t field_steps, rf_coupled **out,
                                          rf_error *err);
void rf_coupled_free(rf_coupled *c);  // NULL is fine

// Blocks for contact `part` to fill; NULL: none.
const rf_contact_blocks *rf_coupled_blocks_rt(const rf_coupled *c, int32_t part);

// Adds to the load of the contacts what the answers of all that deforms make of it.
// RF_ERR_SINGULAR: the load is as it was, and the steps have to be made without.  Forces of contact
// on each shell, and on the field object.  `again`: a second solve of the same cycle, with the load
// as it was before the first, now without the damping of contact.
RF_MUST_CHECK rf_status rf_coupled_condense_rt(rf_coupled *c, bool again,
                                               double *const *shell_force,
                                               const double *field_force, rf_coupling_load *load);
// The steps, after the object has made a motion.
RF_MUST_CHECK rf_status rf_coupled_finish_rt(rf_coupled *c, const double move[6]);
// Evaluates in advance what the next cycle needs of the states alone.
void rf_coupled_prepare_rt(rf_coupled *c);

#endif
