// Penalty law: a linear spring at each point, along the direction e of the search (B07 3.5).
//
// A point with gap d < 0 and weight w has the row of axis e, force w k d and stiffness w k.  But
// for the resolution of grids this force has the potential w k d^2 / 2.  The tangent is that of
// forces whose directions stay; terms in d, the curvature of the field, are left out.
#ifndef RF_CONTACT_PENALTY_LAW_H
#define RF_CONTACT_PENALTY_LAW_H

#include <stdbool.h>

typedef struct rf_penalty_law_settings {
  double stiffness_n_per_m;  // k of every point, unless each has its own
  const double *each;        // k of each point; nullable                              (n_points)
  bool automatic;            // k follows the coupling that holds the object
} rf_penalty_law_settings;

#endif
