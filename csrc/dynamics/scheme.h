// A time integrator: arithmetic on the vectors of a motion (motion.h) that knows no system.
//
// A step of most has one implicit stage (newton.h) at its end.  Such a scheme states the linear
// relation of velocity and acceleration there to the position, and the motion makes the step.
//
// To add a scheme: a source with its table, and a row below.
#ifndef RF_DYNAMICS_SCHEME_H
#define RF_DYNAMICS_SCHEME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/settings.h"
#include "base/status.h"

typedef struct rf_motion rf_motion;

// Rates in a stage at x, from a state (q, v, a): factors of x - q, v and a.
typedef struct rf_stage_rates {
  double velocity[3], acceleration[3];
} rf_stage_rates;

typedef struct rf_scheme {
  const char *name;
  const char *remedy;          // for steps that diverge
  bool mass_only;              // the only matrix that it solves with is M; default: implicit stages
  const rf_setting *settings;  // of a struct of its own; NULL: none
  size_t settings_bytes;       // of that struct
  // RF_ERR_ARG: one of them is out of its range.  NULL: there are none.
  rf_status (*check)(const void *settings, rf_error *err);
  // The one implicit stage of a step of dt_s.  `touching`: contact adds a stiffness to it.  NULL:
  // the scheme has another number of stages, and steps in contact or in sessions are refused.
  void (*rates)(const void *settings, double dt_s, bool touching, rf_stage_rates *out);
  // One step under m->applied, from the state to m->x, m->xdot, m->xddot, which it keeps by
  // rf_motion_keep_rt; its last evaluation is at m->x, as the next step begins with it.  NULL: the step of one implicit stage.
  rf_status (*step_rt)(rf_motion *m);
} rf_scheme;

// The registry: a row a scheme.
#define RF_SCHEMES(ROW)                                                                   \
  ROW(newmark)        /* implicit Newmark: average acceleration and others (newmark.h) */ \
  ROW(backward_euler) /* first order, damps */                                            \
  ROW(central)        /* explicit central differences */

#define RF_SCHEME_DECLARE(name) extern const rf_scheme rf_scheme_##name;
RF_SCHEMES(RF_SCHEME_DECLARE)
#undef RF_SCHEME_DECLARE

// The scheme of a name; NULL: there is none.
const rf_scheme *rf_scheme_find(const char *name);

// True if steps take Newton's iterations: their settings and report are of use.
static inline bool rf_scheme_iterates(const rf_scheme *s) { return !s->mass_only; }

// True if a force may follow the end of a step (motion.h), as contact does.
static inline bool rf_scheme_takes_contact(const rf_scheme *s) { return s->rates != NULL; }

#endif
