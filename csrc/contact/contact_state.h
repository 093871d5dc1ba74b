// Inside of a contact; for contact.c and contact_rt.c only.
#ifndef RF_CONTACT_CONTACT_STATE_H
#define RF_CONTACT_CONTACT_STATE_H

#include "contact/contact.h"
#include "contact/search.h"

struct rf_contact {
  rf_contact_settings set;
  rf_contact_search search;
  rf_contact_budget budget;
  rf_contact_law law;
  rf_contact_wrench wrench;
  const rf_contact_local *local;  // borrowed; NULL: none
};

#endif
