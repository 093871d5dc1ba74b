// Mass-PCA in the memory of its input; private to the room.
#ifndef RF_BASIS_MASS_PCA_H
#define RF_BASIS_MASS_PCA_H

#include "basis/basis.h"

// vectors (count, n_free, 3) over the free nodes; destroyed.  at_most: r is lowered to the rank.
RF_MUST_CHECK rf_status rf_mass_pca_in_place(const rf_solid *solid, const rf_run *run,
                                             int32_t count, double *vectors, int32_t r,
                                             bool at_most, rf_basis *out, rf_error *err);

#endif
