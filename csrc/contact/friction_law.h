// Friction: Signorini's and Coulomb's laws (constraint/friction.h), made by a world that solves for
// the motion of all bodies together (world/frictional.h).
//
// That solver writes the force of each site it chose into the state of its point; the law answers
// with the forces of this cycle, without stiffness.  Outside of such a world nothing moves, so there
// is no friction: the law is then a linear spring along the direction e, as penalty_law.h.
#ifndef RF_CONTACT_FRICTION_LAW_H
#define RF_CONTACT_FRICTION_LAW_H

#include <stdbool.h>
#include <stdint.h>

// Of a point, in the cycle in which it was a site.
typedef struct rf_friction_point {
  int64_t cycle;    // 0: never
  double force[3];  // on the shell, N, in the world
} rf_friction_point;

typedef struct rf_friction_law_settings {
  double mu;                   // coefficient of friction, >= 0
  double compliance_m_per_n;   // of a site, >= 0; 0: a thousandth of the mean diagonal of W
  int32_t sites;               // most sites in a cycle, of all contacts of a world
  double budget_us;            // most time of a solve, > 0
  double stiffness_n_per_m;    // of the spring outside of a world; each: as of penalty_law.h
  const double *each;          //                                                     (n_points)
  bool automatic;              // the spring follows the coupling
  bool solved;                 // a world makes the forces
  int64_t cycle;               // number of this one
  rf_friction_point *state;    // by place                                            (n_points)
} rf_friction_law_settings;

#endif
