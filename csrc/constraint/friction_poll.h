// Lets the run of a call stop a solver of friction: rf_friction_limits.stop.
#ifndef RF_CONSTRAINT_FRICTION_POLL_H
#define RF_CONSTRAINT_FRICTION_POLL_H

#include <stdbool.h>

#include "base/run.h"
#include "base/status.h"

// The context: `st` is the error of the run once it has stopped.
typedef struct rf_friction_poll {
  const rf_run *run;
  rf_error *err;
  rf_status st;
} rf_friction_poll;

static inline bool rf_friction_poll_stop(void *context) {
  rf_friction_poll *p = context;
  p->st = rf_run_poll(p->run, p->err);
  return p->st < 0;
}

#endif
