// The k smallest eigenpairs of  K x = lambda M x,  K symmetric, M symmetric positive
// definite, both known by what they do to vectors only.
//
// A block Lanczos method with thick restarts finds them as the largest eigenvalues
// theta = 1 / (lambda - shift) of A = (K - shift M)^-1 M, which is symmetric in the metric of
// M; it orthogonalises in full.  Blocks for two reasons: eight solves at once cost as much as
// three alone, and a repeated eigenvalue shows all its vectors together, where a
// method with single vectors misses some.  Where restarts do not suffice, as more
// eigenvalues lie close together than the Krylov space holds, the space grows.  One step of
// subspace iteration then polishes all vectors.  Problems that are small, or that ask for a
// good part of the spectrum, are solved densely by LAPACK.  There is no state outside of a call.
//
// Result: ascending, M-orthonormal, and unique as far as mathematics lets it be, by
// linalg/convention.h; the eigenvalue that is cut by k is completed before.
#ifndef RF_LINALG_EIGEN_H
#define RF_LINALG_EIGEN_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/csc.h"

// y = A x for count vectors (count, n).  For a solve x and y may be the same memory.
typedef rf_status (*rf_apply_fn)(void *context, const rf_run *run, int32_t count, const double *x,
                                 double *y, rf_error *err);

typedef struct rf_eigen_problem {
  int32_t n;           // unknowns
  rf_apply_fn mass;    // y = M x
  rf_apply_fn solve;   // y = (K - shift M)^-1 x, K - shift M positive definite
  void *context;       // of both
  double shift;        // below the spectrum; 0 when K itself is positive definite
  int32_t null_space;  // dimension of what solve maps to zero instead (left out of the spectrum)
  int32_t n_weights;
  const double *const *weights;  // diagonals that order repeated modes (n_weights, n)
} rf_eigen_problem;

typedef struct rf_eigen_settings {
  int32_t k;             // 1 .. n - null_space - 1
  int32_t subspace;      // most vectors of the Krylov space; 0: k + 98, and more as needed
  int32_t max_restarts;  // 0: 100
  uint64_t seed;         // of the start vectors
} rf_eigen_settings;

typedef struct rf_eigen_report {
  int32_t solves;  // right-hand sides
  int32_t restarts;
} rf_eigen_report;

// values (k), vectors (k, n).
RF_MUST_CHECK rf_status rf_eigen_smallest(const rf_eigen_problem *problem,
                                          const rf_eigen_settings *set, const rf_run *run,
                                          double *values, double *vectors, rf_eigen_report *report,
                                          rf_error *err);

#endif
