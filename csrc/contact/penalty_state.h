// Inside of a contact; for penalty.c and penalty_rt.c only.
#ifndef RF_CONTACT_PENALTY_STATE_H
#define RF_CONTACT_PENALTY_STATE_H

#include "contact/penalty.h"
#include "contact/search.h"

struct rf_penalty {
  rf_penalty_settings set;
  rf_contact_search search;
  rf_contact_budget budget;
  rf_contact_law law;
  rf_contact_wrench wrench;
};

#endif
