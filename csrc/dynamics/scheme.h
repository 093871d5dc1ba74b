// A time integrator: arithmetic on the vectors of a motion (motion.h) that knows no system.
//
// Most schemes have one implicit stage (newton.h), at the end of the step: they give velocity and
// acceleration there as linear functions of the position, and the motion makes the step.  The
// equation of motion holds there, with the velocity and acceleration that become the state.  State
// (q, v, a) is all that a scheme remembers of earlier steps.
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
  const char *remedy;          // advice that ends the message of a step that diverges
  bool mass_only;              // explicit: solves with the mass matrix only
  const rf_setting *settings;  // of a struct of its own; NULL: none
  size_t settings_bytes;       // of that struct
  // RF_ERR_ARG: a setting is out of its range.  NULL: nothing to check.
  rf_status (*check)(const void *settings, rf_error *err);
  // The one implicit stage of a step of dt_s, for all steps of a motion; the factors of x - q are
  // positive.  `touching`: contact adds a stiffness to it, so that the scheme should damp high
  // frequencies (newmark.h).  NULL: there is no such stage, and steps in contact or in sessions are
  // refused; `step_rt` makes the steps.
  void (*rates)(const void *settings, double dt_s, bool touching, rf_stage_rates *out);
  // One step under m->applied, from the state to m->x, m->xdot, m->xddot, which it keeps by
  // rf_motion_keep_rt; its last evaluation is at m->x, as the next step begins with it.  NULL if,
  // and only if, there are `rates`.
  rf_status (*step_rt)(rf_motion *m);
} rf_scheme;

// The registry: one row per scheme.
#define RF_SCHEMES(ROW)                                                                   \
  ROW(newmark)        /* implicit Newmark: average acceleration and others (newmark.h) */ \
  ROW(backward_euler) /* first order, damps */                                            \
  ROW(central)        /* explicit central differences */

#define RF_SCHEME_DECLARE(name) extern const rf_scheme rf_scheme_##name;
RF_SCHEMES(RF_SCHEME_DECLARE)
#undef RF_SCHEME_DECLARE

// The scheme of a name; NULL: there is none.
const rf_scheme *rf_scheme_find(const char *name);

// True if steps take Newton's iterations, with their settings and report.
static inline bool rf_scheme_iterates(const rf_scheme *s) { return !s->mass_only; }

// True if a force may depend on the position at the end of a step (motion.h), as contact does.
static inline bool rf_scheme_takes_contact(const rf_scheme *s) { return s->rates != NULL; }

#endif
