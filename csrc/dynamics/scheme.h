// A time integrator: arithmetic on the vectors of a motion (motion.h) that knows no system.  A new
// one is a file with a constant of this type and a row in scheme.c.
#ifndef RF_DYNAMICS_SCHEME_H
#define RF_DYNAMICS_SCHEME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/settings.h"
#include "base/status.h"

typedef struct rf_motion rf_motion;
typedef struct rf_motion_settings rf_motion_settings;

typedef struct rf_scheme_operations {
  // Acceleration and velocity that belong to the position x of the stage.  NULL: explicit.
  void (*rates)(rf_motion *m);
  // Begins the one implicit stage of a step, with a force of stiffness `added` (nullable): sets
  // m->added, m->displaced_m = 0, m->per_x, and m->x = m->q exactly, whose force the end of the
  // last step has left in m->force.  Needed for steps in contact and in sessions.  NULL: the scheme
  // has another number of stages.
  void (*begin)(rf_motion *m, const double *added);
  // One step under m->applied, from the state to m->x, m->xdot, m->xddot, which it keeps by
  // rf_motion_keep_rt.
  rf_status (*step)(rf_motion *m);
} rf_scheme_operations;

typedef struct rf_scheme {
  const char *name;
  bool is_explicit;
  const char *remedy;          // for steps that diverge
  const rf_setting *settings;  // of rf_motion_settings, those that it takes
  size_t plan_bytes;           // of what it makes of the settings
  rf_status (*plan)(const rf_motion_settings *set, void *plan, rf_error *err);
  const rf_scheme_operations *operations;
} rf_scheme;

extern const rf_scheme rf_newmark, rf_central;

// NULL: there is none of that name.
const rf_scheme *rf_scheme_named(const char *name);

#endif
