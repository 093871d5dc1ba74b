// Parts of the inverse of a sparse matrix, by its factor.
//
// A unit right-hand side changes only the fronts on the path from its own one to the root of the
// elimination tree; a row of the solution needs only the fronts above its own one.  The inverse is
// symmetric: rows that are eliminated before all columns of a call may be left out, as they are
// columns of other calls.
//
//   P. Amestoy, I. Duff, J.-Y. L'Excellent, F.-H. Rouet: Parallel computation of entries of A^-1.
//   SIAM Journal on Scientific Computing 37 (2015)
#ifndef RF_LINALG_FRONTS_INVERSE_H
#define RF_LINALG_FRONTS_INVERSE_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/fronts.h"
#include "linalg/panel_rt.h"

enum { RF_FRONTS_INVERSE_COLUMNS = 6 * RF_PANEL_WIDTH };  // most columns per call

typedef struct rf_fronts_inverse rf_fronts_inverse;

// Prepares calls for rows of `count` unknowns, by any number of workers below `workers` at once.
RF_MUST_CHECK rf_status rf_fronts_inverse_create(const rf_fronts *f, const double *values,
                                                 int32_t count, const int32_t *unknown, int workers,
                                                 rf_fronts_inverse **out, rf_error *err);
void rf_fronts_inverse_free(rf_fronts_inverse *p);  // NULL is allowed

// Returns the place of an unknown in the order of elimination.
int32_t rf_fronts_inverse_position(const rf_fronts_inverse *p, int32_t unknown);

// Begin the right-hand sides of `columns` columns in the memory of a worker, as zero; add to one of
// them; and solve, at the prepared rows with a position of `from` or later.
void rf_fronts_inverse_begin(const rf_fronts_inverse *p, int worker, int32_t columns);
void rf_fronts_inverse_add(const rf_fronts_inverse *p, int worker, int32_t column, int32_t unknown,
                           double value);
void rf_fronts_inverse_solve(const rf_fronts_inverse *p, int worker, int32_t from);

// Returns the row of an unknown: column k is at (k / RF_PANEL_WIDTH) stride + k % RF_PANEL_WIDTH.
const double *rf_fronts_inverse_row(const rf_fronts_inverse *p, int worker, int32_t unknown,
                                    int64_t *stride);

#endif
