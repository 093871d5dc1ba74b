// Unilateral contact with Coulomb friction at points of a surface with Green's functions, by the
// laws of constraint/friction.h with the Delassus operator W = H G H^T.
//
// Released supports add H Phi S^-1 Phi^T H^T to W.  If those that are left do not hold the solid, S
// is singular, and contacts must hold it.  Then springs tie the released nodes to their places
// after the previous solve, repeatedly (proximal point method), until the springs carry no force.
#ifndef RF_GREEN_CONTACT_H
#define RF_GREEN_CONTACT_H

#include "constraint/friction.h"
#include "green/green.h"

typedef struct rf_green_contact {
  int32_t m;
  const rf_green_point *point;  // (m)
  const double *normal;         // from the obstacle to the body, any length > 0      (m, 3)
  const double *gap;            // place relative to the obstacle without forces, m   (m, 3)
  const double *mu;             // (m)
  const double *load;           // N; nullable                                        (count, 3)
  int32_t n_released;
  const int32_t *released;  // indices in g->releasable, distinct              (n_released)
} rf_green_contact;

// Solves for the forces on the body (m, 3), N, the relative places after it (m, 3), states (m), the
// displacements of the released nodes (n_released, 3), u (rows, 3), and the lift of packed blocks.
// RF_ERR_SINGULAR: contacts do not hold a solid that the other supports do not hold, or none of the
// lifts makes W semidefinite.
RF_MUST_CHECK rf_status rf_green_contact_solve(const rf_green *g, const rf_run *run,
                                               const rf_green_contact *contact, double tolerance,
                                               double *force, double *gap, rf_contact_state *state,
                                               double *released, double *u, double *lift,
                                               rf_friction_report *report, rf_error *err);

#endif
