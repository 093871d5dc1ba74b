// Implicit Newmark (B07 2.9), the same scheme for the reduced model, where a step
// is real-time code, and for the unreduced solid (newmark_solid.h).
//
// With a1 = 1/(b h^2), a2 = 1/(b h), a3 = (1-2b)/(2b), a4 = g/(b h), a5 = 1 - g/b,
// a6 = (1 - g/(2b)) h  a step iterates from x = x_i:
//   acc = a1 (x - x_i) - a2 v_i - a3 acc_i,   v = a4 (x - x_i) + a5 v_i + a6 acc_i
//   residual = M acc + C v + R(x) - f,        C = alpha M + beta K(x) + D(x)
//   (a1 M + a4 C + K) dx = -residual,         x += dx
// until |residual| <= tolerance * max(|first residual|, |R|, |f|), or newton_max solves.  Where the
// matrix is not positive definite, the factor of M in it grows until it is.
// The derivative of C(x) v by x is left out, as in B07; D is strain-rate damping (2.34 to 2.38).
//
// Reduced steps guard each increment.  Along it the residual is cubic, and so is its product with
// dx, the slope of the energy of the step.  If the slope at the end is larger than minus the slope
// at the beginning, the tangent at x says little about what is ahead (a light body under a sudden
// force), and the increment ends at the zero of the cubic instead, found from four values.
//
// A reduced step can be taken in three parts, for what must be solved together with it: a force
// that follows the end of the step,
//     f = f_0 + f_1 - A (x - x_i),
// joins A to the matrix and A (x - x_i) to the residual of all its iterations.  _linearize knows
// f_0 and A and prepares the first solve; then any number of right-hand sides have that matrix for
// what depends on it (_solve), which may decide f_1; _finish makes the step.  Without A and f_1 it
// has the bits of _step.
//
// A step with an A that is not zero has g = 0.6, if that of the scheme is less, and then b of
// (g + 1/2)^2 / 4 at least.  Average acceleration
// (g = 1/2) keeps alive whatever alternates from step to step, and contact that opens and closes
// feeds it: bodies whose modes are stiff for the step would never rest.  With 0.6 that part loses a
// fifth in each step, and a mode of angular frequency w has 0.05 w h of critical damping more.
#ifndef RF_INTEGRATOR_NEWMARK_H
#define RF_INTEGRATOR_NEWMARK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "integrator/motion.h"
#include "model/reduced_model.h"
#include "polynomial/damping.h"

typedef struct rf_newmark_settings {
  double dt_s;           // step, s, > 0
  double damping_mass;   // alpha, 1/s, >= 0
  double damping_stiff;  // beta, s, >= 0
  double beta, gamma;    // Newmark's, 0 < beta, 0 <= gamma
  double tolerance;      // relative, >= 0; the bound is stated above
  int32_t newton_max;    // solves a step, >= 1
  // strain-rate damping, NULL: none; of a reduced model (borrowed: must outlive the simulation),
  // and of an unreduced solid, phi and psi of each material (copied)
  const rf_damping *strain_rate;
  const double *viscosity;
  const double *load;  // constant external force, added to that of every step (copied); NULL: none
} rf_newmark_settings;

typedef struct rf_newmark_coefficients {
  double a1, a2, a3, a4, a5, a6;
} rf_newmark_coefficients;

enum {
  RF_NEWMARK_HISTORY = 32,  // residuals of a step that are kept
  RF_NEWMARK_SHIFTS = 30,   // factors of M tried, each 4 times the one before
};

typedef struct rf_newmark_report {
  int64_t steps;        // since the last reset
  int64_t solves;       // linear systems
  int64_t indefinite;   // of these, not positive definite
  int64_t shortened;    // increments that the guard above shortened
  int64_t unconverged;  // steps not known to have met the tolerance: the residual after the
                        // last solve is not evaluated, so with newton_max = 1 all that solved
  int32_t most_solves;  // in one step
  // of the last step: solves, and the norms of the residuals evaluated, over the scale above
  int32_t last_solves;
  int32_t n_history;
  double history[RF_NEWMARK_HISTORY];  // the first ones
  double residual;                     // the last one
} rf_newmark_report;

// Enters a finished step: its solves and the residuals before each, and after the last when
// that was evaluated because it met the tolerance.
void rf_newmark_note_rt(rf_newmark_report *report, int32_t solves, bool converged,
                        const double *history, double residual);

RF_MUST_CHECK rf_status rf_newmark_check(const rf_newmark_settings *set,
                                         rf_newmark_coefficients *out, rf_error *err);

// Explains RF_ERR_DIVERGED, which it returns.
rf_status rf_newmark_diverged(double time_s, rf_error *err);

// State and work of one reduced simulation; the model is shared.  One thread at a time.
typedef struct rf_newmark {
  rf_newmark_settings set;
  rf_newmark_coefficients coef, coef_added;  // without and with an A
  const rf_newmark_coefficients *now;        // of the step being computed: one of these
  const rf_reduced *model;                   // borrowed: must outlive this
  double time_s;
  double *q, *qdot, *qddot;  // state, part of motion        (r)
  rf_newmark_report report;
  bool bounded;        // steps that end where rf_newmark_far_rt is true fail
  double displaced_m;  // upper bound of the displacement by the step that failed so; else 0
  struct rf_reduced_motion *motion;
} rf_newmark;

// Upper bound of displacements of a body, over its length.  Unstable steps go beyond it
// long before a number is no longer finite.
#define RF_NEWMARK_FARTHEST 30.0
static inline bool rf_newmark_far_rt(const rf_newmark *s, double displaced_m) {
  return displaced_m > RF_NEWMARK_FARTHEST * s->model->length_m;
}
// Explains RF_ERR_DIVERGED of a step, which it returns; the text of a bounded one begins with `who`
// and advises the `remedy` beside others.
rf_status rf_newmark_explain(const rf_newmark *s, const char *who, const char *remedy,
                             rf_error *err);

RF_MUST_CHECK rf_status rf_newmark_create(const rf_reduced *model, const rf_newmark_settings *set,
                                          rf_newmark **out, rf_error *err);
void rf_newmark_free(rf_newmark *s);  // NULL is fine

// State at time 0: q, qdot (nullable: zero), acceleration consistent with the constant load
// alone unless qddot is given.
RF_MUST_CHECK rf_status rf_newmark_reset(rf_newmark *s, const double *q, const double *qdot,
                                         const double *qddot, rf_error *err);

// State, time and report of another simulation of the same model.
RF_MUST_CHECK rf_status rf_newmark_take(rf_newmark *s, const rf_newmark *from, rf_error *err);

// n steps under constant `force` (nullable: zero).  RF_ERR_DIVERGED when a number is no
// longer finite, a matrix is singular, or a bounded simulation goes too far: the state is then that
// before the failing step.  Real-time code has no text: rf_newmark_explain writes it.
RF_MUST_CHECK rf_status rf_newmark_step_rt(rf_newmark *s, const double *force, int64_t n);

// Makes n >= 1 steps, the last of them bounded.
RF_MUST_CHECK rf_status rf_newmark_step_within_rt(rf_newmark *s, const double *force, int64_t n);

// Evaluates in advance what the next step needs of the state alone, most of its work.  The end of a
// step has evaluated it already.
void rf_newmark_prepare_rt(rf_newmark *s);
// Positions, velocities and accelerations of another simulation of the same model.
void rf_newmark_follow_rt(rf_newmark *s, const rf_newmark *other);

// One step under a force that follows its end: f_0 (nullable: zero) and A as of _linearize, but a
// matrix that is not positive definite is solved as in _step.
RF_MUST_CHECK rf_status rf_newmark_step_added_rt(rf_newmark *s, const double *force,
                                                 const double *stiffness);

// The three parts of one step.  f_0: `force` (r, nullable: zero); A: `stiffness`, symmetric, rows
// as in linalg/dense_rt.h, nullable, borrowed until the step is finished; `increment`
// (rf_dense_ld(r)): of x by the first solve with f_1 = 0.  The state is as before; RF_ERR_SINGULAR
// where the matrix is not positive definite, RF_ERR_DIVERGED where a number is not finite: then
// there is nothing to finish.
RF_MUST_CHECK rf_status rf_newmark_linearize_rt(rf_newmark *s, const double *force,
                                                const double *stiffness, double *increment);
// Response (rf_dense_ld(r)) of x in that solve to a force, in place if they are the same.
void rf_newmark_solve_rt(const rf_newmark *s, const double *force, double *response);
// f_1: `more` (r), nullable: zero.  Errors as of _step.
RF_MUST_CHECK rf_status rf_newmark_finish_rt(rf_newmark *s, const double *more);

#endif
