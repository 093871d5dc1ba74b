// Sparse Cholesky factorization of a symmetric positive definite matrix, by
// CHOLMOD: supernodal, ordered by METIS where CHOLMOD has it and AMD elsewhere.
//
// The result has the same bits whatever the thread count of the BLAS: OpenBLAS splits dgemm,
// dtrsm and dpotrf at other places for two threads than for one, which rounds otherwise, so a
// factorization has one BLAS thread.  Of a Newton iteration on a solid of 3,600 nodes it is 87 %,
// its solve 12 %: one solution (statics, implicit steps) gains next to nothing from a second core.
// Several right-hand sides (_solve_parallel) and several loads (fem/statics_loads.c) do.
//
// Analyse once, factorize as often as values change, solve in blocks: a solve
// for 32 columns costs 4 to 5 times less per column than one alone.
#ifndef RF_LINALG_CHOLESKY_H
#define RF_LINALG_CHOLESKY_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/csc.h"

typedef struct rf_cholesky rf_cholesky;

enum { RF_CHOLESKY_BLOCK = 32 };  // good number of right-hand sides per solve

// Symbolic analysis of the pattern of `lower` (values are not looked at).
RF_MUST_CHECK rf_status rf_cholesky_create(const rf_csc *lower, rf_cholesky **out, rf_error *err);

// Numeric factorization; pattern as analysed.  RF_ERR_SINGULAR when a pivot is
// not positive; then *bad_column (nullable) is the column of `lower` it belongs to.
RF_MUST_CHECK rf_status rf_cholesky_factorize(rf_cholesky *f, const rf_csc *lower,
                                              int32_t *bad_column, rf_error *err);

// x = A^-1 b for nrhs columns (column-major, n rows each); x and b may be the
// same memory.  One thread at a time per factor.
RF_MUST_CHECK rf_status rf_cholesky_solve(rf_cholesky *f, int nrhs, const double *b, double *x,
                                          rf_error *err);

// The same on run->threads threads, in blocks of RF_CHOLESKY_BLOCK columns that do not
// depend on how many there are: neither do the bits of the result.  Only reads the factor,
// so any number of callers may be inside.
RF_MUST_CHECK rf_status rf_cholesky_solve_parallel(const rf_cholesky *f, const rf_run *run,
                                                   int nrhs, const double *b, double *x,
                                                   rf_error *err);

// The two halves of A = P^T L L^T P:
// x = P^T L^-T y for nrhs columns, and y = L^T P x, so that |y|^2 = x^T A x.
RF_MUST_CHECK rf_status rf_cholesky_half_solve(rf_cholesky *f, int nrhs, const double *y, double *x,
                                               rf_error *err);

// Makes what rf_cholesky_half_multiply needs, until the next factorization.
RF_MUST_CHECK rf_status rf_cholesky_half_prepare(rf_cholesky *f, rf_error *err);

// `width` columns that lie side by side, at most RF_CHOLESKY_HALF_WIDTH and best so many, as each
// call reads all of the factor: x, y and the scratch are (n, width).  Does not change the factor:
// any number of callers may be inside.
enum { RF_CHOLESKY_HALF_WIDTH = 24 };
void rf_cholesky_half_multiply(const rf_cholesky *f, int width, const double *x, double *scratch,
                               double *y);

void rf_cholesky_free(rf_cholesky *f);  // NULL is fine

#endif
