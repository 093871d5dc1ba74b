#include "dynamics/scheme.h"

#include <string.h>

static const rf_scheme *const ALL[] = {&rf_newmark, &rf_central};

const rf_scheme *rf_scheme_named(const char *name) {
  for (size_t i = 0; i < sizeof ALL / sizeof *ALL; ++i)
    if (strcmp(ALL[i]->name, name) == 0) return ALL[i];
  return NULL;
}
