// Penalty law: a linear spring at each point, along the direction e of the search (B07 3.5).
//
// A point with gap d < 0 and weight w has the row of axis e, force w k d and stiffness w k.  But
// for the resolution of grids this force has the potential w k d^2 / 2.  The tangent is that of
// forces whose directions stay; terms in d, the curvature of the field, are left out.
#ifndef RF_CONTACT_PENALTY_LAW_H
#define RF_CONTACT_PENALTY_LAW_H

#include <stdbool.h>

#include "contact/law.h"

typedef struct rf_penalty_law_settings {
  double stiffness_n_per_m;  // k of every point, unless each has its own
  const double *each;        // k of each point, in the order of the shell; nullable   (n_points)
  bool automatic;            // k follows the coupling that holds the object
} rf_penalty_law_settings;

typedef struct rf_penalty_law {
  double stiffness_n_per_m;  // of every point; if by_point, the largest
  double *each;              // by place; nullable                                     (n_points)
  int32_t n_points;
  bool by_point;  // each point has its own
  bool automatic;
} rf_penalty_law;

extern const rf_contact_law_rt rf_penalty_law_rt;

#endif
