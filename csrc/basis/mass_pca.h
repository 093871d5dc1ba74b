// Mass-PCA in the memory of its input; internal to this room.
#ifndef RF_BASIS_MASS_PCA_H
#define RF_BASIS_MASS_PCA_H

#include "basis/basis.h"
#include "basis/metric.h"

// Space of the vectors: its mass (lower triangle, the same for each of `width` components) and the
// diagonals that order vectors of equal singular value (n_weights, rows, width).
typedef struct rf_pca_space {
  const rf_csc *mass;
  int width;
  const rf_places *places;  // of the rows of the mass; nullable
  int32_t n_weights;
  const double *const *weights;
} rf_pca_space;

// Replaces vectors (count, rows, width) by the first *r principal ones, at the front.  spectrum:
// min(count, unknowns) singular values.  at_most: lowers *r to the rank.
RF_MUST_CHECK rf_status rf_mass_pca_of(const rf_pca_space *space, const rf_run *run, int32_t count,
                                       double *vectors, bool at_most, int32_t *r, double *spectrum,
                                       rf_error *err);

// The same for vectors (count, n_free, 3) over the free nodes; destroys them.  at_most: lowers r to
// the rank.
RF_MUST_CHECK rf_status rf_mass_pca_in_place(const rf_solid *solid, const rf_run *run,
                                             int32_t count, double *vectors, int32_t r,
                                             bool at_most, rf_basis *out, rf_error *err);

// Multiplies vectors (count, n) by their weights (nullable: 1); RF_ERR_ARG if a weight is not
// finite.
RF_MUST_CHECK rf_status rf_mass_pca_weigh(int32_t count, size_t n, const double *weights,
                                          double *vectors, rf_error *err);

#endif
