// Columns of Green's functions, as parts of the inverse of the factored stiffness of a solid.
//
// Of a free solid with the rigid motions R, the factor A is that of six supports, and
//   G = (1 - R R^T M) A^-1 (1 - M R R^T) = A^-1 - Q R^T - R Q^T,
//   Q = A^-1 M R - R (R^T M A^-1 M R) / 2.
//
// Nodes that are constrained (mesh/constraints.h) move as their masters, which take their forces.
#ifndef RF_GREEN_COLUMNS_H
#define RF_GREEN_COLUMNS_H

#include <stdint.h>

#include "base/status.h"
#include "linalg/fronts_inverse.h"
#include "modes/modes.h"

enum { RF_GREEN_GROUP = RF_FRONTS_INVERSE_COLUMNS / 3 };  // most nodes per solve

typedef struct rf_green_columns rf_green_columns;

// Prepares columns of the nodes of a surface, which have shares (node.h), on the threads of the
// run. `modes` and `node` must outlive them.
RF_MUST_CHECK rf_status rf_green_columns_create(const rf_solid *solid, const rf_modes_solid *modes,
                                                const rf_run *run, int32_t count,
                                                const int32_t *node, rf_green_columns **out,
                                                rf_error *err);
void rf_green_columns_free(rf_green_columns *c);  // NULL is allowed

// Returns the position of a place in the order of elimination: that of the first DOF it depends on.
int32_t rf_green_columns_position(const rf_green_columns *c, int32_t place);

// Returns the rest position of a place.
const double *rf_green_columns_point(const rf_green_columns *c, int32_t place);

// Solves for the columns of some places, in the memory of a worker, at places with a position of
// `from` or later.
void rf_green_columns_solve(const rf_green_columns *c, int worker, int32_t some,
                            const int32_t *place, int32_t from);

// Copies the block of a place, row-major, and of column k of the last solve, which is of `column`.
void rf_green_columns_block(const rf_green_columns *c, int worker, int32_t place, int32_t k,
                            int32_t column, double block[9]);

// Copies the rigid motion k of a free solid at a place.
void rf_green_columns_rigid(const rf_green_columns *c, int32_t k, int32_t place, double out[3]);

#endif
