// Sparse Cholesky factorization of a symmetric positive definite matrix.  CHOLMOD analyses the
// pattern for supernodes, with the ordering in use (linalg/ordering.h).  linalg/fronts.h computes
// factors and solutions on the threads of the run, with identical bits for any number of threads.
//
// Analyse once, factorize whenever values change, and solve for many columns at once: reading the
// factor dominates, and it is read once per RF_CHOLESKY_BLOCK columns.
#ifndef RF_LINALG_CHOLESKY_H
#define RF_LINALG_CHOLESKY_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/csc.h"
#include "linalg/fronts_inverse.h"
#include "linalg/ordering.h"

typedef struct rf_cholesky rf_cholesky;

enum { RF_CHOLESKY_BLOCK = 32 };  // good number of right-hand sides per solve

// Analyses the pattern of `lower` symbolically; values are ignored.  places: of the unknowns,
// nullable.
RF_MUST_CHECK rf_status rf_cholesky_create(const rf_csc *lower, const rf_places *places,
                                           rf_cholesky **out, rf_error *err);

// Factorizes a matrix with the analysed pattern.  RF_ERR_SINGULAR when a pivot is not
// positive; *bad_column (nullable) is then its column in `lower`.
RF_MUST_CHECK rf_status rf_cholesky_factorize(rf_cholesky *f, const rf_run *run,
                                              const rf_csc *lower, int32_t *bad_column,
                                              rf_error *err);

// Solves A x = b for nrhs columns (column-major, n rows each); x and b may be the same memory.
RF_MUST_CHECK rf_status rf_cholesky_solve(const rf_cholesky *f, const rf_run *run, int nrhs,
                                          const double *b, double *x, rf_error *err);

// The two halves of A = P^T L L^T P, in place on vectors (vectors, n, width); A acts alike on each
// of the `width` components.  half_solve: x becomes P^T L^-T x.  half_multiply: x becomes L^T P x,
// so that |L^T P x|^2 = x^T A x.
RF_MUST_CHECK rf_status rf_cholesky_half_solve(const rf_cholesky *f, const rf_run *run, int vectors,
                                               int width, double *x, rf_error *err);
RF_MUST_CHECK rf_status rf_cholesky_half_multiply(const rf_cholesky *f, const rf_run *run,
                                                  int vectors, int width, double *x, rf_error *err);

// Prepares parts of the inverse (linalg/fronts_inverse.h): rows of `count` unknowns, for so many
// workers.  The factor must outlive them.
RF_MUST_CHECK rf_status rf_cholesky_inverse_create(const rf_cholesky *f, int32_t count,
                                                   const int32_t *unknown, int workers,
                                                   rf_fronts_inverse **out, rf_error *err);

void rf_cholesky_free(rf_cholesky *f);  // NULL is allowed

#endif
