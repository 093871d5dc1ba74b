// A sparse matrix of a solid with further entries, between nodes of parts that touch, and its
// factor.
#ifndef RF_DYNAMICS_COUPLED_MATRIX_H
#define RF_DYNAMICS_COUPLED_MATRIX_H

#include <stdint.h>

#include "base/status.h"
#include "dynamics/system.h"
#include "fem/fem.h"
#include "linalg/cholesky.h"
#include "linalg/csc.h"

// Zero to begin with.
typedef struct rf_coupled_matrix {
  rf_csc lower;
  int32_t *place;       // of each entry of the matrix without the pairs
  rf_cholesky *factor;  // of the pattern
  int32_t n_pairs;
  int32_t *pair;  // those of the pattern     (n_pairs, 2)
} rf_coupled_matrix;

// Copies a lower triangle into the pattern with the pairs of the coupling, which is analysed again
// if they are others than before.
RF_MUST_CHECK rf_status rf_coupled_matrix_fill(rf_coupled_matrix *m, const rf_csc *lower,
                                               const rf_solid *solid,
                                               const rf_system_coupling *coupling, rf_error *err);
// Adds `factor` times the matrices of the coupling to values of a pattern that contains them.
// column_of: free node of each node, -1: fixed; three columns each.
void rf_coupled_matrix_add(const rf_system_coupling *coupling, const int32_t *column_of,
                           double factor, const rf_csc *to);
void rf_coupled_matrix_release(rf_coupled_matrix *m);

#endif
