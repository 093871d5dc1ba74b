// Penalty law: a linear spring at each point, along the direction e of the search (B07 3.5).
//
// A point with gap d < 0 and weight w has the row of axis e, force w k d and stiffness w k.  But
// for the resolution of grids this force has the potential w k d^2 / 2.  The tangent is that of
// forces whose directions stay; terms in d, the curvature of the field, are left out.
#ifndef RF_CONTACT_PENALTY_LAW_H
#define RF_CONTACT_PENALTY_LAW_H

#include "contact/spring.h"

typedef rf_contact_spring rf_penalty_law_settings;

#endif
