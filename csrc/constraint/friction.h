// Signorini's and Coulomb's laws of contacts, given the Delassus operator W (D06 4).
//
// Contact i has a normal force and two tangential ones, f_i = (n, t1, t2), and the displacement
// there is d = W f + free: the gap at the end of a step, and the slip during it.  For each contact
//     0 <= d_n  _|_  f_n >= 0,   |f_t| <= mu f_n,   d_t != 0  =>  f_t = -mu f_n d_t / |d_t|,
// the law itself, not the convex problem that lifts slipping contacts by mu |d_t|.  The residual is
// the largest violation with d over max|free| and f over max|free| / mean(diag W):
//     |min(d_n, f_n)|,  |f_t| - mu f_n,  |mu f_n d_t + |d_t| f_t|,  min(|d_t|, |mu f_n - |f_t||).
//
// From given forces, as of the previous step, a few steps of Newton's method may suffice, or a few
// sweeps.  Else sweeps over the contacts (D06 algorithm 1) find roughly which of them touch, stick
// and slip.  Newton's method on the complementarity functions of Alart and Curnier follows, in
// which the contacts that do not touch and the directions of slip are eliminated exactly.  Where it
// does not converge, W is regularised about the best forces so far, repeatedly (proximal point
// method), and friction is increased from zero in parts.  Without friction, a pinch is recognised
// by a direction y of forces with W y = 0 and y . free < 0: there is no solution then with any
// friction.
//
// Memory is allocated when the solver is created; solves are real-time code.
#ifndef RF_CONSTRAINT_FRICTION_H
#define RF_CONSTRAINT_FRICTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "linalg/simd.h"

typedef struct rf_friction rf_friction;

enum { RF_FRICTION_MOST = 1024 };  // contacts; a Newton step takes a second then

typedef struct rf_friction_settings {
  int32_t most;       // contacts, >= 1
  int32_t most_rank;  // of a factor, >= 0
  rf_simd simd;
} rf_friction_settings;

typedef enum rf_friction_end {
  RF_FRICTION_SOLVED,
  RF_FRICTION_BUDGET,     // out of time
  RF_FRICTION_STALLED,    // no method got any further
  RF_FRICTION_INFEASIBLE  // no forces exist; those returned are of W + 0.01 mean(diag W)
} rf_friction_end;

typedef enum rf_contact_state {
  RF_CONTACT_OPEN,
  RF_CONTACT_STICKS,
  RF_CONTACT_SLIPS
} rf_contact_state;

typedef struct rf_friction_limits {
  double tolerance;  // of the residual, > 0
  double budget_us;  // time of a solve, > 0; INFINITY: none
  bool sweeps;       // W is nearly diagonal: sweeps from a start are faster than Newton's method
  // Asked between steps if not NULL, by offline callers: true ends the solve as out of time.
  bool (*stop)(void *context);
  void *context;
} rf_friction_limits;

typedef struct rf_friction_report {
  rf_friction_end end;
  double residual;
  int32_t sweeps, steps, centres;  // over the contacts; of Newton's method; of the proximal point
  double elapsed_us;
} rf_friction_report;

RF_MUST_CHECK rf_status rf_friction_create(const rf_friction_settings *set, rf_friction **out,
                                           rf_error *err);
void rf_friction_free(rf_friction *s);  // NULL is fine

// Sets W (3m, 3m), m/N, of m contacts: symmetric positive semidefinite (a contract: only that it is
// finite and that no diagonal entry is negative is checked, RF_ERR_ARG).
RF_MUST_CHECK rf_status rf_friction_set_matrix_rt(rf_friction *s, int32_t m, const double *w);

// Sets W = V V^T + compliance, V (3m, rank); compliance, m/N, >= 0.
RF_MUST_CHECK rf_status rf_friction_set_factor_rt(rf_friction *s, int32_t m, int32_t rank,
                                                  const double *v, double compliance);

// Sets W = V V^T + E + compliance, with a symmetric semidefinite E (3m, 3m), m/N, as of
// rf_friction_set_matrix_rt.
RF_MUST_CHECK rf_status rf_friction_set_sum_rt(rf_friction *s, int32_t m, int32_t rank,
                                               const double *v, const double *e, double compliance);

// Largest coefficient of friction, and range of max|free| and of mean(diag W) in which squares and
// quotients are finite; smaller ones count as zero.
#define RF_FRICTION_MOST_MU 1e9
#define RF_FRICTION_LEAST_SCALE 1e-140
#define RF_FRICTION_MOST_SCALE 1e140

// Solves for the forces (3m), N.  free (3m), m; mu (m) >= 0; start (3m), N, nullable: forces to
// begin with.  gap (3m), m, nullable: d.  state (m), nullable.  The forces lie in their cones.
// Those that are no solution are bounded, |f| <= 100 max|free| / mean(diag W), and f . d <= 0.
// RF_ERR_ARG: a number is not finite or out of its range; the forces are then zero.
RF_MUST_CHECK rf_status rf_friction_solve_rt(rf_friction *s, const double *free, const double *mu,
                                             const double *start, const rf_friction_limits *limits,
                                             double *force, double *gap, rf_contact_state *state,
                                             rf_friction_report *report);

// The same by sweeps alone (D06 algorithm 1), until the sum over the contacts of |change of f| /
// |f| in a sweep is below `change`, or for `most` sweeps (RF_FRICTION_STALLED).  That is no
// residual. limits: tolerance and budget are not used.
RF_MUST_CHECK rf_status rf_friction_sweeps_rt(rf_friction *s, const double *free, const double *mu,
                                              const double *start, double change, int32_t most,
                                              const rf_friction_limits *limits, double *force,
                                              double *gap, rf_contact_state *state,
                                              rf_friction_report *report);

#endif
