// a = M^-1 f over the free DOFs of a solid, with its lumped or its consistent mass.
#ifndef RF_FEM_MASS_SOLVE_H
#define RF_FEM_MASS_SOLVE_H

#include <stdbool.h>

#include "base/status.h"
#include "fem/fem.h"
#include "linalg/cholesky.h"

typedef struct rf_solid_mass {
  const rf_solid *solid;  // borrowed: must outlive this
  rf_cholesky *factor;    // of the scalar mass, NULL: lumped
  double *columns;        // one column an axis                     (3, n_free)
} rf_solid_mass;

// True where explicit steps take the lumped mass.  Cut elements of second order need the consistent
// one: motions that hardly strain the little that is left of a cell keep their lumped mass, and so
// get frequencies among the lowest of the body.
bool rf_solid_steps_lumped(const rf_solid *solid);

RF_MUST_CHECK rf_status rf_solid_mass_init(rf_solid_mass *m, const rf_solid *solid,
                                           const rf_run *run, bool lumped, rf_error *err);
void rf_solid_mass_release(rf_solid_mass *m);  // all zero is fine

// y = M^-1 x at free nodes, both (n, 3); y may be x and keeps what it has at fixed nodes.
RF_MUST_CHECK rf_status rf_solid_mass_solve(rf_solid_mass *m, const rf_run *run, const double *x,
                                            double *y, rf_error *err);

#endif
