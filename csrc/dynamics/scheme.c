#include "dynamics/scheme.h"

#include <string.h>

#define ROW(name) &rf_scheme_##name,
static const rf_scheme *const SCHEMES[] = {RF_SCHEMES(ROW)};
#undef ROW

const rf_scheme *rf_scheme_find(const char *name) {
  for (size_t i = 0; i < sizeof SCHEMES / sizeof *SCHEMES; ++i)
    if (strcmp(SCHEMES[i]->name, name) == 0) return SCHEMES[i];
  return NULL;
}
