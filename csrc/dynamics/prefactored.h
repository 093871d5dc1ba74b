// Damping of explicit steps of a solid taken inside the step, with a constant matrix
//   D = alpha M + beta K(0) + strain-rate damping at rest:   (M + h/2 D) a = b.
//
// Central differences with it are stable for h omega <= 2 for any D (Z00, chapter 4).  A step of
// the length h_k = h_0 2^k has a factor of its matrix.  One of another length, between h_k and
// h_k+1, is solved by conjugate gradients with t A(h_k)^-1 + (1 - t) A(h_k+1)^-1 as preconditioner,
// h = t h_k + (1 - t) h_k+1: as 1 / (1 + h s) is convex in h, the eigenvalues of the product lie
// between 1 and (h_k + h_k+1)^2 / (4 h_k h_k+1) = 9/8, and the error falls to 3 % in an iteration.
#ifndef RF_DYNAMICS_PREFACTORED_H
#define RF_DYNAMICS_PREFACTORED_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "dynamics/system.h"
#include "linalg/cholesky.h"

typedef struct rf_solid rf_solid;

enum { RF_PREFACTORED_FACTORS = 3 };

// The levels k for which things are kept: a new one takes the place of the one used longest ago.
typedef struct rf_prefactored_levels {
  int32_t level[RF_PREFACTORED_FACTORS];
  int64_t used[RF_PREFACTORED_FACTORS];  // number of its last use; 0: the place is empty
  int64_t uses;
} rf_prefactored_levels;

// Returns the place of a level; fresh: it had none, and what the place holds is of another one.
static inline int32_t rf_prefactored_take(rf_prefactored_levels *l, int32_t level, bool *fresh) {
  int32_t at = 0;
  *fresh = true;
  for (int32_t i = 0; i < RF_PREFACTORED_FACTORS && *fresh; ++i) {
    *fresh = l->used[i] == 0 || l->level[i] != level;
    if (!*fresh || l->used[i] < l->used[at]) at = i;
  }
  l->level[at] = level;
  l->used[at] = ++l->uses;
  return at;
}

typedef struct rf_prefactored {
  const rf_solid *solid;         // borrowed
  rf_csc mass, damping;          // lower triangles over the free DOFs, of one pattern
  rf_csc matrix;                 // of the last step
  double dt_s;                   // its length; 0: there was none
  double first_s;                // h_0
  rf_prefactored_levels levels;  // of the factors
  rf_cholesky *factor[RF_PREFACTORED_FACTORS];
  double *vectors;  // of the free DOFs        (RF_PREFACTORED_VECTORS, 3 n_free)
} rf_prefactored;

// Splits a step as above: k, and the parts t and 1 - t; the second is 0 where one factor is enough.
static inline int32_t rf_prefactored_split(double first_s, double dt_s, double part[2]) {
  int exponent;
  const double ratio = 2.0 * frexp(dt_s / first_s, &exponent);  // in [1, 2)
  part[0] = 2.0 - ratio;
  part[1] = ratio - 1.0;
  return exponent - 1;
}

// damping: with the length inside_s of most steps.  lumped: the mass is.
RF_MUST_CHECK rf_status rf_prefactored_create(const rf_solid *solid, const rf_run *run,
                                              const rf_system_damping *damping, bool lumped,
                                              rf_prefactored **out, rf_error *err);
void rf_prefactored_free(rf_prefactored *d);  // NULL is fine

// Computes y = D x for (n_nodes, 3) vectors, zero at fixed nodes.
RF_MUST_CHECK rf_status rf_prefactored_multiply(rf_prefactored *d, const rf_run *run,
                                                const double *x, double *y, rf_error *err);
// Computes y = (M + h/2 D)^-1 x likewise, and counts the iterations; x and y may be the same.
RF_MUST_CHECK rf_status rf_prefactored_solve(rf_prefactored *d, const rf_run *run, double dt_s,
                                             const double *x, double *y, int64_t *iterations,
                                             rf_error *err);
// Computes A^-1 e for unit forces e at a free node, x (3, n_nodes, 3), in a step with a factor.
RF_MUST_CHECK rf_status rf_prefactored_respond(rf_prefactored *d, const rf_run *run, double dt_s,
                                               int32_t node, double *x, rf_error *err);

#endif
