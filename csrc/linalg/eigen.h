// The k smallest eigenpairs of K x = lambda M x with K symmetric and M symmetric positive definite,
// both given as operators on vectors.
//
// A block Lanczos method with thick restarts and full orthogonalisation finds them as the largest
// eigenvalues theta = 1 / (lambda - shift) of A = (K - shift M)^-1 M, which is symmetric in the
// metric of M. Blocks have two advantages: eight solves at once cost as much as three alone, and
// all vectors of a repeated eigenvalue appear together, of which a method with single vectors
// misses some.  The space grows if more eigenvalues lie close together than it holds.  Without a
// tolerance, one step of subspace iteration then polishes all vectors.  Small problems, and those
// that ask for a large part of the spectrum, are solved densely by LAPACK. All state is local to
// the call.
//
// Results are ascending, M-orthonormal and, as far as possible, unique by linalg/convention.h; the
// cluster of the k-th eigenvalue is completed before the cut.
#ifndef RF_LINALG_EIGEN_H
#define RF_LINALG_EIGEN_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/csc.h"

// y = A x for count vectors (count, n). In a solve x and y may be the same memory.
typedef rf_status (*rf_apply_fn)(void *context, const rf_run *run, int32_t count, const double *x,
                                 double *y, rf_error *err);

typedef struct rf_eigen_problem {
  int32_t n;           // unknowns
  rf_apply_fn mass;    // y = M x
  rf_apply_fn solve;   // y = (K - shift M)^-1 x, K - shift M positive definite
  void *context;       // of both
  double shift;        // below the spectrum; 0 when K itself is positive definite
  int32_t null_space;  // dimension of the null space that `solve` maps to zero
  int32_t n_weights;
  const double *const *weights;  // diagonals that order repeated modes (n_weights, n)
} rf_eigen_problem;

typedef struct rf_eigen_settings {
  int32_t k;             // 1 .. n - null_space - 1
  int32_t subspace;      // most vectors of the Krylov space; 0: k + 98, and more as needed
  int32_t max_restarts;  // 0: 100
  double tolerance;      // residual of A x = theta x, relative to theta; 0: 1e-11 and one more step
  uint64_t seed;         // seed of the start vectors
} rf_eigen_settings;

typedef struct rf_eigen_report {
  int32_t solves;  // right-hand sides solved for
  int32_t restarts;
} rf_eigen_report;

// Computes values (k) and vectors (k, n).
RF_MUST_CHECK rf_status rf_eigen_smallest(const rf_eigen_problem *problem,
                                          const rf_eigen_settings *set, const rf_run *run,
                                          double *values, double *vectors, rf_eigen_report *report,
                                          rf_error *err);

#endif
