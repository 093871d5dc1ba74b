// Inside of the friction solver: scaled problem, iterates, kernels.
//
// Vectors of all contacts are three blocks of ld numbers: normal, first and second tangent; beyond
// the m contacts they are zero, and so is W.  W is divided by its mean diagonal entry,
// displacements by max|free|, forces by the quotient of both.
#ifndef RF_CONSTRAINT_FRICTION_WORK_H
#define RF_CONSTRAINT_FRICTION_WORK_H

#include <stdbool.h>

#include "constraint/friction.h"
#include "linalg/dense_rt.h"

// Unknowns of a Newton step: normal forces of the contacts that touch, then one tangential force of
// each that slips with friction or sticks, then the second one of those that stick.
typedef struct rf_friction_unknowns {
  int32_t n, touch, first, second;  // all, and of each kind
  int32_t *contact;                 // of each unknown                          (3 ld)
  double *normal1, *normal2;        // tangential force that a normal one brings: mu e  (ld)
  double *tangent1, *tangent2;      // direction of the tangential unknown              (ld)
  double *damped;                   // beta (friction_step_rt.c)                        (ld)
  double *along;                    // phi of the forces begun with                     (ld)
} rf_friction_unknowns;

// work of a Newton step that a microsecond does, at first
#define RF_FRICTION_WORK_PER_US 4e4

struct rf_friction {
  rf_friction_settings set;
  int32_t m, ld;
  double mean;                // mean diagonal entry of W, m/N
  double largest;             // max|free|, m
  double *w;                  // (3 ld rows of 3 ld), or not set: rf_friction_is_by_factor
  int32_t rank;               // 0: no factor
  double compliance;          // scaled
  double *factor;             // V, scaled: W = V V^T + compliance  (3 ld rows of rf_dense_ld(rank))
  double *free;               // (3 ld)
  double *given_mu, *mu;      // mu: `part` of it                            (ld)
  double part;                // of the friction, 1 but for stages in between
  double *normal, *tangent;   // W_nn, and the mean of the two of W_tt           (ld)
  double *across1, *across2;  // W_nt of both tangents                          (ld)
  double shift;               // added to the diagonal of W, times f - centre
  double *centre;             // (3 ld)
  double *inverse_n, *inverse_t;  // of the diagonal with the shift; 0: no compliance  (ld)
  double *force, *moved;          // the iterate f, and W f + free (+ shift)        (3 ld)
  double *in_cone, *moved_in;     // f with every contact in its cone, likewise
  double *best, *first, *inner;   // best forces, those of the first sweeps, best of an inner solve
  double *kept;                   // best forces, while a part of the friction counts
  double best_residual, kept_residual;
  rf_friction_unknowns unknown;
  double *matrix;     // of a Newton step, and its right side (linalg/dense_rt.h)
  double *panel;      // scratch of the elimination
  double *reduced;    // V^T f (rf_dense_ld(rank))
  double *increment;  // x of a step (rf_dense_ld(3 ld + 1))
  double *scratch;    // (3 ld)
  double *diagonal;   // D of the unknowns (3 ld)
  double *rows;       // P^T D^-1 and Q^T (3 ld rows each, of rf_dense_ld(rank))
  int32_t *index;     // (3 ld)
  void *block;        // all of these arrays
  // of the solve
  rf_friction_limits limits;
  double begun_us;
  double reserve_us;   // time of the end of a solve, measured
  double work_per_us;  // of Newton steps, measured
  bool stopped;        // by limits.stop
  rf_friction_report report;
};

// ---- friction_law_rt.c

// Scales the problem; RF_ERR_ARG as for rf_friction_solve_rt.
rf_status rf_friction_begin_rt(rf_friction *s, const double *free, const double *mu,
                               const double *start);
// Writes the forces f, N, and s->moved_in as gap, m, which is nullable.
void rf_friction_end_rt(const rf_friction *s, const double *f, double *force, double *gap);
// True if V takes less time than W, which is then not set.  A step solves for as many unknowns as V
// has columns then: too many where few of many contacts touch.
static inline bool rf_friction_is_by_factor(const rf_friction *s) {
  enum { FEW = 64 };
  return s->rank > 0 && rf_dense_ld(s->rank) < (s->rank <= FEW ? 2 : 1) * s->ld;
}
// moved = W f + free + shift (f - centre).
void rf_friction_move_rt(rf_friction *s, const double *f, double *moved);
// The same for `to`, given the displacements `moved` by `from`: takes less time if few entries
// differ.  moved_to may be moved.
void rf_friction_move_on_rt(rf_friction *s, const double *from, const double *moved,
                            const double *to, double *moved_to);
double rf_friction_residual_rt(const rf_friction *s, const double *f, const double *moved);
// Moves every contact into its cone: f_n >= 0 first, then the tangential force is shortened.
void rf_friction_project_rt(const rf_friction *s, const double *f, double *out);
// Sets the shift and the inverses that sweeps use.
void rf_friction_shift_rt(rf_friction *s, double shift);
// Makes n sweeps, or those that time allows, from s->force, whose displacements are in s->moved.
void rf_friction_sweep_rt(rf_friction *s, int32_t n);
// Time left for phases; 0 if the solve was stopped.
double rf_friction_left_us_rt(const rf_friction *s);

// ---- friction_rt.c

// Arrays for the results of a solve; gap, state: nullable.
typedef struct rf_friction_results {
  double *force, *gap;
  rf_contact_state *state;
  rf_friction_report *report;
} rf_friction_results;

// Begins a solve with zero as the best forces.  RF_ERR_ARG as for rf_friction_solve_rt: the results
// are then written.
rf_status rf_friction_open_rt(rf_friction *s, const double *free, const double *mu,
                              const double *start, const rf_friction_limits *limits,
                              const rf_friction_results *out);
// Asks limits.stop.
void rf_friction_poll_rt(rf_friction *s);
// Writes the results for the forces s->best.
void rf_friction_close_rt(rf_friction *s, const rf_friction_results *out);

// ---- friction_step_rt.c

// Begins a Newton step: judges the contacts by s->force and s->moved, its displacements, and moves
// both to the nearest forces of the form judged.
void rf_friction_judge_rt(rf_friction *s, double gain_n, double gain_t);
// Work of the step that was begun, in units of s->work_per_us.
double rf_friction_step_work_rt(const rf_friction *s);
// Makes the step; false: it is not finite.
bool rf_friction_step_rt(rf_friction *s, double regular);

// ---- kernels

typedef void rf_friction_sweep_fn(rf_friction *s);
typedef void rf_friction_add_rows_fn(int32_t count, const int32_t *index, const double *w,
                                     int32_t length, const double *factor, double *sum);
typedef void rf_friction_add_by_factor_fn(const rf_friction *s, const double *f, double *sum);
typedef void rf_friction_rows_fn(const rf_friction *s, int32_t stride);
typedef double rf_friction_residual_fn(const rf_friction *s, const double *f, const double *moved);
typedef void rf_friction_square_fn(int32_t n, int32_t ld, const double *v, double *w);
RF_SIMD_DECLARE(rf_friction_square_fn, rf_friction_square);
RF_SIMD_DECLARE(rf_friction_sweep_fn, rf_friction_sweep);
RF_SIMD_DECLARE(rf_friction_sweep_fn, rf_friction_sweep_by_factor);
RF_SIMD_DECLARE(rf_friction_add_rows_fn, rf_friction_add_rows);
RF_SIMD_DECLARE(rf_friction_add_by_factor_fn, rf_friction_add_by_factor);
RF_SIMD_DECLARE(rf_friction_rows_fn, rf_friction_rows);
RF_SIMD_DECLARE(rf_friction_residual_fn, rf_friction_residual);

#endif
