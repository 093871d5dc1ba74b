// A system in motion by a time integrator: state, the step being computed, report.
//
// Functions ending _rt are real-time code where the system is a reduced model.  Those of other
// systems go through rf_motion_step, which hands them threads and a place for messages.
//
// A step of a scheme with one implicit stage can be taken in three parts, for what must be solved
// together with it: a force that follows the end of the step,
//     f = f_0 + f_1 - A (x - x_i),
// joins A to the matrix and A (x - x_i) to the residual of all its iterations.  _linearize knows
// f_0 and A and prepares the first solve; then any number of right-hand sides have that matrix for
// what depends on it (_solve), which may decide f_1; _finish makes the step.  Without A and f_1 it
// has the bits of _step.
#ifndef RF_DYNAMICS_MOTION_H
#define RF_DYNAMICS_MOTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "dynamics/barrier.h"
#include "dynamics/collide.h"
#include "dynamics/newton.h"
#include "dynamics/scheme.h"
#include "dynamics/subspace.h"
#include "dynamics/system.h"

typedef struct rf_motion_settings {
  const rf_scheme *scheme;
  void *own;           // settings of the scheme (copied); NULL: it has none
  double dt_s;         // step, s, > 0
  double tolerance;    // of Newton's residual, relative, >= 0 (newton.h)
  int32_t newton_max;  // solves a stage, >= 1
  bool line_search;    // increments are guarded (newton.h)
  int32_t exact;  // modes that are solved exactly (subspace.h), of a scheme with modes; 0: none
  int32_t modes;  // which: rf_subspace_modes
  const double *load;         // constant external force (n), added to that of every step (copied);
                              // NULL: none
  const rf_barrier *barrier;  // contact of the body, borrowed; NULL: none
  const rf_collide_settings *collide;  // contact in explicit steps, read on creation; NULL: none
} rf_motion_settings;

// Names of the settings that are not the scheme's own.
const rf_setting *rf_motion_settings_of(const rf_scheme *scheme);

typedef struct rf_motion_report {
  int64_t steps;             // since the last reset
  int64_t solves;            // linear systems
  int64_t indefinite;        // of these, not positive definite
  int64_t projected;         // of these, made definite point by point
  int64_t shortened;         // increments that the guard of newton.h shortened
  int64_t shortened_before;  // of these, up to the end of the last step
  int64_t shortened_steps;   // steps in which one was shortened
  int64_t unconverged;       // steps that ended above the tolerance
  int64_t examined;          // steps of one iteration that were examined (stage_rt.c)
  double missed;             // sum of the parts of their increments that one iteration missed
  double worst;              // largest relative residual at the end of a step
  int32_t most_solves;       // in one step
  // of the last step: solves, and the norms of the residuals evaluated, over the scale of newton.h
  int32_t last_solves;
  int32_t n_history;
  double history[RF_NEWTON_HISTORY];  // the first ones
  double residual;                    // the last one
  int64_t refreshes;                  // of exact modes
  double strain;                      // largest seen of a cubature, of some points at each step
  double drift;  // sine of the largest angle of their space to that before the last one
} rf_motion_report;

// A spring of stiffness k at one point of a body whose unknowns are displacements of nodes.  Its
// force follows the end of the step, as with A below.
typedef struct rf_motion_spring {
  rf_system_points at;  // one point
  double matrix[9];     // k times the identity, N/m
} rf_motion_spring;

// Of the stages of the step being made.
typedef struct rf_motion_tally {
  bool converged;
  bool stuck;  // no part of its first increment lowers the energy
  int32_t solves, evaluated;
  double history[RF_NEWTON_HISTORY];
  double promised;  // of one iteration a step: minus the slope at the beginning of the increment
} rf_motion_tally;

// The model of the system is shared.  One thread at a time.
struct rf_motion {
  rf_system *system;      // owned
  rf_subspace *subspace;  // owned; NULL: no modes are exact
  rf_motion_settings set;
  rf_stage stages[RF_STEP_KINDS][RF_STAGES];  // of the scheme
  int32_t n;                                  // values of a vector; they have system->ld, zero
                                              // beyond
  double time_s;
  double origin_s;       // time since which steps have the length dt_s
  int64_t origin_steps;  // and the number of steps up to then
  rf_motion_report report;
  bool in_contact;           // steps are RF_STEP_TOUCHING, as with A
  bool bounded;              // steps that go farther than rf_motion_far_rt allows fail
  double displaced_m;        // upper bound of the displacement by the step that failed so; else 0
  double farthest_m;         // upper bound of the displacement by the last bounded step
  double *q, *qdot, *qddot;  // state
  bool follows;              // the two below are known
  double *step, *step_rate;  // changes of q and qdot in the last step, of a scheme that remembers
  // the step being computed
  double *x, *xdot, *xddot;
  double *load;                    // constant external force
  double *applied;                 // external force, with the constant one
  double *force;                   // R(x)
  double energy;                   // W(x), where the guard of newton.h needs it
  double *residual;                // of the stage at x
  double *increment;               // of x, by a solve
  double *product;                 // scratch
  double *start;                   // x before an increment whose line is searched
  double *change;                  // x - q, where a stiffness is added
  rf_barrier_work *barrier;        // contact; NULL: none
  rf_collide *collide;             // contact of explicit steps; NULL: none
  const double *added;             // A, symmetric, borrowed; NULL: none         (ld rows of ld)
  const rf_motion_spring *spring;  // borrowed; NULL: none
  bool prepared;                   // force and what the system keeps are those of the next x
  bool has_tangent;                // the last evaluation was with the tangent
  // the stage
  const rf_stage *stage;
  const double *from;                       // x where it begins: q or `middle`
  double *middle, *part, *part_rate;        // x after the first stage, its changes since the state
  double *known_rate, *known_acceleration;  // rates without their parts in x
  double *known_force;                      // applied + carried F
  const double *against;                    // one of these two
  bool linearized;                          // its first residual is there
  rf_newton newton;
  rf_motion_tally tally;
  void *scheme_work;  // of the scheme
};

// Steps for which the system of a scheme is made.
static inline rf_system_steps rf_motion_steps_of(const rf_scheme *scheme) {
  return !scheme->mass_only ? RF_STEPS_IMPLICIT
         : scheme->exact    ? RF_STEPS_EXPONENTIAL
                            : RF_STEPS_EXPLICIT;
}

// At rest.  The system is taken over, also on failure.
RF_MUST_CHECK rf_status rf_motion_create(rf_system *system, const rf_motion_settings *set,
                                         const rf_run *run, rf_motion **out, rf_error *err);
// Another motion of the model in the same state, with settings of its own if they are not NULL.
// RF_ERR_ARG where systems of its kind cannot be copied.
RF_MUST_CHECK rf_status rf_motion_clone(const rf_motion *from, const rf_motion_settings *set,
                                        rf_motion **out, rf_error *err);
void rf_motion_free(rf_motion *m);  // NULL is fine

// State at time 0: q, qdot (nullable: zero), acceleration consistent with the constant load
// alone unless qddot is given.
RF_MUST_CHECK rf_status rf_motion_reset(rf_motion *m, const rf_run *run, const double *q,
                                        const double *qdot, const double *qddot, rf_error *err);
void rf_motion_set_steps(rf_motion *m, int64_t steps);  // since the last reset, and so the time
// Numbers besides the state on which steps of a scheme with varying ones depend: steps, their
// origin, contact.  Without contact four zeros stand for it.
static inline int64_t rf_motion_pace_size(const rf_motion *m) {
  return 3 + (m->collide ? rf_collide_numbers(m->collide) : 4);
}
void rf_motion_pace(const rf_motion *m, double *pace);
// RF_ERR_ARG if numbers contradict each other; then nothing changes.
RF_MUST_CHECK rf_status rf_motion_recall_pace(rf_motion *m, const double *pace, rf_error *err);
// Length of the steps from now on.  RF_ERR_ARG unless the scheme varies it.
RF_MUST_CHECK rf_status rf_motion_set_dt(rf_motion *m, double dt_s, rf_error *err);

// Changes of q and qdot (n) in the step before the state, for a scheme that remembers them.
void rf_motion_recall(rf_motion *m, const double *step, const double *step_rate);

// Vectors of exact modes that follow, on which the next step depends too, and the shape of their
// array.  False: there are none, or none yet.
bool rf_motion_modes_shape(const rf_motion *m, int32_t shape[3]);
bool rf_motion_modes(const rf_motion *m, double *out);
void rf_motion_recall_modes(rf_motion *m, const double *modes);

// State, time and report of another motion of the same model.
RF_MUST_CHECK rf_status rf_motion_take(rf_motion *m, const rf_motion *from, rf_error *err);

// Makes n steps under constant `force` (nullable: zero), the last of them bounded.  RF_ERR_DIVERGED
// when a number is no longer finite, a matrix is singular, or the body goes too far: the state is
// then that before the failing step.
RF_MUST_CHECK rf_status rf_motion_step(rf_motion *m, const rf_run *run, const double *force,
                                       int64_t n, rf_error *err);
// The same without a text, which rf_motion_explain writes; bounded if m->bounded.
RF_MUST_CHECK rf_status rf_motion_step_rt(rf_motion *m, const double *force, int64_t n);
// The same, the last of n >= 1 steps bounded.
RF_MUST_CHECK rf_status rf_motion_step_within_rt(rf_motion *m, const double *force, int64_t n);

// Explains RF_ERR_DIVERGED of a step, which it returns; the text of a bounded one begins with `who`
// and advises the `remedy` beside others.
rf_status rf_motion_explain(const rf_motion *m, const char *who, const char *remedy, rf_error *err);

// Upper bound of displacements of a body, over its length.  Unstable steps go beyond it
// long before a number is no longer finite.
#define RF_MOTION_FARTHEST 30.0
static inline bool rf_motion_far_rt(const rf_motion *m, double displaced_m) {
  return displaced_m > RF_MOTION_FARTHEST * m->system->length_m;
}

// Upper bound of the displacement by the last bounded step, over the length of a reduced body.
static inline double rf_motion_farthest(const rf_motion *m) {
  return m->farthest_m / m->system->length_m;
}

// Evaluates in advance what the next step needs of the state alone, most of its work.  The end of a
// step has evaluated it already.
void rf_motion_prepare_rt(rf_motion *m);
// Positions, velocities and accelerations of another motion of the same model, as the beginning.
void rf_motion_follow_rt(rf_motion *m, const rf_motion *other);

// One step under a force that follows its end: f_0 (nullable: zero) and A as of _linearize, but a
// matrix that is not positive definite is solved as in _step.
RF_MUST_CHECK rf_status rf_motion_step_added_rt(rf_motion *m, const double *force,
                                                const double *stiffness);
// The same with a spring in place of A: the force k (p - x_i) of the beginning is in f_0.
RF_MUST_CHECK rf_status rf_motion_step_sprung_rt(rf_motion *m, const double *force,
                                                 const rf_motion_spring *spring);
// The three parts of one step.  f_0: `force` (n, nullable: zero); A: `stiffness`, symmetric, rows
// as in linalg/dense_rt.h, nullable, borrowed until the step is finished; `increment` (ld): of x by
// the first solve with f_1 = 0.  The state is as before; RF_ERR_SINGULAR where the matrix is not
// positive definite, RF_ERR_DIVERGED where a number is not finite: then there is nothing to finish.
RF_MUST_CHECK rf_status rf_motion_linearize_rt(rf_motion *m, const double *force,
                                               const double *stiffness, double *increment);
// Response (ld) of x in that solve to a force, in place if they are the same.
RF_MUST_CHECK rf_status rf_motion_solve_rt(rf_motion *m, const double *force, double *response);
// B (n rows of ld) becomes L^-1 B, with L L^T the matrix of that solve: products of its columns are
// those of the compliance.  Of systems with `half_solve` only.
void rf_motion_half_solve_rt(rf_motion *m, int32_t ld, double *b);
// f_1: `more` (n), nullable: zero.  Errors as of _step.
RF_MUST_CHECK rf_status rf_motion_finish_rt(rf_motion *m, const double *more);

// Sets m->applied from `force` (nullable: zero) and the constant load.
void rf_motion_apply_rt(rf_motion *m, const double *force);
// One step of implicit stages under m->applied.
RF_MUST_CHECK rf_status rf_motion_step_stage_rt(rf_motion *m);

// Time of the state; a sum of steps would drift.
static inline double rf_motion_time_rt(const rf_motion *m) {
  return m->origin_s + (double)(m->report.steps - m->origin_steps) * m->set.dt_s;
}

// For schemes.
// After a failure: NaN may have reached the padding of vectors, which must be zero.
void rf_motion_clean_rt(rf_motion *m);
// The step becomes the state; RF_ERR_DIVERGED, with the state as it was, unless it is finite and
// not too far.
RF_MUST_CHECK rf_status rf_motion_keep_rt(rf_motion *m);

#endif
