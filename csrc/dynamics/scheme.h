// A time integrator: arithmetic on the vectors of a motion (motion.h) that knows no system.
//
// Implicit schemes are tables: a step has one or two stages (newton.h), in which velocity and
// acceleration are linear in the position x and in vectors that are known (A21 (5) to (12)).  The
// motion makes the steps.  State (q, v, a), and where a scheme asks for it the change of q and v in
// the step before, is all that is remembered of earlier steps.
//
// To add a scheme: a source with its table, and a row below.
#ifndef RF_DYNAMICS_SCHEME_H
#define RF_DYNAMICS_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/settings.h"
#include "base/status.h"

typedef struct rf_arena rf_arena;
typedef struct rf_motion rf_motion;
typedef struct rf_system rf_system;

// Rates in a stage are sums of these vectors, with factors.
typedef enum rf_stage_term {
  RF_STAGE_CHANGE,        // x less its value where the stage begins: q, or x after the first stage
  RF_STAGE_VELOCITY,      // v of the state
  RF_STAGE_ACCELERATION,  // a of the state
  RF_STAGE_STEP,          // change of q in the step before
  RF_STAGE_STEP_RATE,     // and of v
  RF_STAGE_PART,          // change of q in the first stage
  RF_STAGE_PART_RATE,     // and of v
  RF_STAGE_TERMS
} rf_stage_term;

// A stage.  With the rates acc and vel at x, its equation is
//   M (inertia_1 acc + inertia_2 a) + C vel + R(x) = f + carried F,
// F = f - C v - R(q) the force at the state.  The last stage gives the end of the step.
typedef struct rf_stage {
  double velocity[RF_STAGE_TERMS], acceleration[RF_STAGE_TERMS];  // factors; those of x > 0
  double inertia[2];
  double carried;  // of a first stage; else 0
  double span_s;   // time by which the stage goes ahead; 0: its modes cannot be exact (subspace.h)
  bool same_matrix;  // of a second stage: solves first with the matrix of the stage before
} rf_stage;

// Steps for which the tables of a scheme may differ.
typedef enum rf_step_kind {
  RF_STEP_ALONE,
  RF_STEP_TOUCHING,  // contact adds a stiffness, so that high frequencies should be damped
  RF_STEP_FIRST,     // there is no previous step, which the scheme needs
  RF_STEP_KINDS
} rf_step_kind;

enum { RF_STAGES = 2 };  // of a step, at most

typedef struct rf_scheme {
  const char *name;
  const char *remedy;          // advice for steps that diverge, in place of the general one
  bool mass_only;              // solves with the mass matrix only
  bool exact;                  // of these: takes the consistent mass, and K
  bool varies;                 // each step may have a length of its own
  const rf_setting *settings;  // of a struct of its own; NULL: none
  size_t settings_bytes;       // of that struct
  // RF_ERR_ARG: a setting is out of its range.  NULL: nothing to check.
  rf_status (*check)(const void *settings, rf_error *err);
  int32_t stages;       // of a step: one with contact and in sessions; 0: explicit
  bool remembers;       // asks for the step before
  bool with_modes;      // the stages have a span_s
  bool takes_barriers;  // forces are those of the end of a step, and high frequencies die out
  // Stage `k` of a step of dt_s; `out` has an inertia of (1, 0) and zeros.  NULL: no stages.
  void (*tabulate)(const void *settings, double dt_s, rf_step_kind kind, int32_t k, rf_stage *out);
  // Memory of a step beyond that of motions, m->scheme_work, zero at first.  NULL: none.
  void (*layout)(const rf_system *s, const void *settings, rf_arena *a);
  // One step under m->applied, from the state to m->x, m->xdot, m->xddot, which it keeps by
  // rf_motion_keep_rt; its last evaluation is at m->x, as the next step begins with it.  NULL if,
  // and only if, there are stages.
  rf_status (*step_rt)(rf_motion *m);
} rf_scheme;

// The registry: one row per scheme.
#define RF_SCHEMES(ROW)                                                                      \
  ROW(newmark)           /* implicit Newmark: average acceleration and others (newmark.h) */ \
  ROW(backward_euler)    /* first order, damps */                                            \
  ROW(bdf2)              /* second order, damps high frequencies */                          \
  ROW(trbdf2)            /* two stages: trapezoidal rule and bdf2 */                         \
  ROW(sdirk2)            /* two stages of one matrix */                                      \
  ROW(generalized_alpha) /* Newmark with forces averaged over a step */                      \
  ROW(exponential_euler) /* exact for linear systems */                                      \
  ROW(central)           /* explicit central differences */

#define RF_SCHEME_DECLARE(name) extern const rf_scheme rf_scheme_##name;
RF_SCHEMES(RF_SCHEME_DECLARE)
#undef RF_SCHEME_DECLARE

// The scheme of a name; NULL: there is none.
const rf_scheme *rf_scheme_find(const char *name);

// True if steps take Newton's iterations, with their settings and report.
static inline bool rf_scheme_iterates(const rf_scheme *s) { return !s->mass_only; }

// True if a force may depend on the position at the end of a step (motion.h), as contact does.
static inline bool rf_scheme_takes_contact(const rf_scheme *s) { return s->stages == 1; }

#endif
