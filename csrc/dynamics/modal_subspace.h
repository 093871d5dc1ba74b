// The lowest modes of the tangent, which steps of a scheme solve exactly (A21 4).
//
// With K X = M X Lambda, X^T M X = 1, Q = M X and P = X Q^T, the part P of the equations is an
// exponential step of the tangent where the stage begins (exponential.h), the rest the stage of the
// scheme:  u_1 = b + c (1 - P) (vel, acc)  with P u_1 known.  So each solve of a stage is
// one of the matrix A of the scheme under the constraint Q^T x = known,
//   A dx + Q mu = -residual,   Q^T dx = jump,
//   dx = y + Z (Q^T Z)^-1 (jump - Q^T y),   y = -A^-1 residual,   Z = A^-1 Q,
// symmetric and stable where X are not the eigenvectors of this moment.  A21 (22), (23) and (27)
// have a slope of the middle of the step in place of that of its end, and amplify the modes.
//
// The modes are those at the beginning of each step: exactly, or by one sweep of Rayleigh's and
// Ritz's method; or they are those at rest.  The sweep begins with the modes of the step before, Z,
// whose solutions that step needed, and the modes of the step before that, with which it can follow
// modes that turn steadily: their error falls to about a tenth.
#ifndef RF_DYNAMICS_MODAL_SUBSPACE_H
#define RF_DYNAMICS_MODAL_SUBSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/run.h"
#include "base/status.h"
#include "dynamics/blocks.h"
#include "dynamics/subspace.h"
#include "dynamics/system.h"

typedef enum rf_subspace_modes {
  RF_SUBSPACE_FOLLOW,
  RF_SUBSPACE_EXACT,
  RF_SUBSPACE_REST,
  RF_SUBSPACE_MODES
} rf_subspace_modes;

// Matrices by columns: vectors over the free unknowns (count, n).
typedef struct rf_modal_subspace {
  rf_subspace base;
  rf_subspace_modes modes;
  rf_blocks blocks;
  rf_run run;         // of the call under way, with at most `threads`
  int threads;        // for which there is scratch
  int32_t s;          // modes
  int32_t most;       // vectors of a sweep, s and some more
  bool known;         // the vectors below are there
  bool diagonal;      // X^T K X is diagonal
  double *shapes;     // X, and the other vectors of sweeps; room for all of these    (room, n)
  double *loads;      // M times them                                                 (room, n)
  double *images;     // K times them, and scratch                                    (room, n)
  double *earlier;    // of sweeps: X of the step before; zero: not known             (most, n)
  double *responses;  // A^-1 M times the vectors, beginning with Z, and y  (most + 1, n)
  double *vector;     // (n)
  double *tall;       // scratch of linalg/tall.h
  double *values;     // eigenvalues                                                    (room)
  double *turn;       // eigenvectors of small matrices                           (room, room)
  double *small;      // another small matrix                                     (room, room)
  double *coupling;   // factor of Q^T Z                                                (s, s)
  double *jump, *end_rate, *multiplier;  // change and rate of the modes; Q^T residual         (s)
  double *coordinates;  // scratch                                                     (2, s)
  double *work;         // of LAPACK
  int *int_work;
  int n_work, n_int_work;
  double *before;  // parts of rf_modal_subspace_give at the beginning of the step; of sweeps
  bool known_before;
  bool begun;    // a step is under way whose beginning these two are
  double drift;  // sine of the largest angle of X to X before, of the last one
} rf_modal_subspace;

// Of `s` modes; RF_ERR_ARG where the system has not more unknowns.
RF_MUST_CHECK rf_status rf_modal_subspace_create(rf_system *system, const rf_run *run, int32_t s,
                                                 rf_subspace_modes modes, rf_modal_subspace **out,
                                                 rf_error *err);
void rf_modal_subspace_free(rf_modal_subspace *s);  // NULL is fine

// State of the next sweep, (RF_SUBSPACE_PARTS, most, n): copies to another of the same
// system and number of modes.
enum { RF_SUBSPACE_PARTS = 4 };
void rf_modal_subspace_take(rf_modal_subspace *s, const double *from);
void rf_modal_subspace_give(const rf_modal_subspace *s, double *to);

// For this room: before products of tall matrices.
const rf_run *rf_modal_subspace_run(rf_modal_subspace *s);
// X becomes the modes of the tangent evaluated last.  The factor is another one then.
RF_MUST_CHECK rf_status rf_modal_subspace_solve(rf_modal_subspace *s);
// The vectors become the best approximations by themselves, their responses and the earlier ones.
RF_MUST_CHECK rf_status rf_modal_subspace_sweep(rf_modal_subspace *s);
// Eigenvalues (k), ascending, and eigenvectors of a symmetric matrix (k, k), which they replace.
RF_MUST_CHECK rf_status rf_modal_subspace_diagonalize(rf_modal_subspace *s, int32_t k,
                                                      double *matrix);

#endif
