#include "contact/law.h"

#include <string.h>

#include "contact/penalty_law.h"

// The registry: one row a law.
static const rf_contact_law_kind *const KINDS[] = {
    &rf_penalty_law_kind,
};

const rf_contact_law_kind *rf_contact_law_find(const char *name) {
  for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; ++i)
    if (strcmp(KINDS[i]->name, name) == 0) return KINDS[i];
  return NULL;
}
