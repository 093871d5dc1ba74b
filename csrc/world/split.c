// Each body alone, under the load before the step: nothing is solved together.
#include <stddef.h>

#include "world/solver.h"

static rf_status create(struct rf_world *world, void **self, rf_error *err) {
  (void)world, (void)err;
  *self = NULL;
  return RF_OK;
}

const rf_solver_kind rf_solver_split = {.name = "split", .create = create};
