#include "contact/law.h"

#include <string.h>

#define ROW(name) &rf_##name##_law_kind,
static const rf_contact_law_kind *const KINDS[] = {RF_CONTACT_LAWS(ROW)};
#undef ROW

const rf_contact_law_kind *rf_contact_law_find(const char *name) {
  for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; ++i)
    if (strcmp(KINDS[i]->name, name) == 0) return KINDS[i];
  return NULL;
}
