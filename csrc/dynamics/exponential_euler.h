// State and memory of the exponential Rosenbrock-Euler method.
#ifndef RF_DYNAMICS_EXPONENTIAL_EULER_H
#define RF_DYNAMICS_EXPONENTIAL_EULER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "dynamics/exponential.h"
#include "dynamics/scheme.h"
#include "dynamics/system.h"

typedef struct rf_exponential_settings {
  double accuracy;  // of Lanczos' method, relative
  int32_t krylov;   // vectors of Lanczos' method, at most
} rf_exponential_settings;

typedef struct rf_exponential_work {
  rf_exponential_series series;
  bool begun, orthonormal;         // the parts below that do not change are there; M is 1
  double *transform, *transposed;  // C and C^T                        (r, ld)
  double *matrix, *product;        // C K C^T, and scratch             (r, ld)
  double *diagonal, *beside;       // its tridiagonal form             (n)
  double *rate, *force;            // v and F in these coordinates     (ld)
  double *change, *rate_change;    // results in them                  (ld)
  double *scratch;                 // (2, ld)
  double *vectors;                 // of Lanczos' method               (krylov + 1, ld)
  double *loads;                   // M times the last two             (2, ld)
  double *zero;                    // (ld)
  void *apply;                     // of rf_exponential_apply_rt
} rf_exponential_work;

// Size of the tridiagonal matrix, at most.
static inline int32_t rf_exponential_size(const rf_system *s, const rf_exponential_settings *set) {
  return s->operations->dense ? s->n : set->krylov;
}

RF_MUST_CHECK rf_status rf_exponential_step_rt(rf_motion *m);

#endif
