// Solution of a = M^-1 f over the free DOFs of a solid, with its lumped or its consistent mass.
#ifndef RF_FEM_MASS_SOLVE_H
#define RF_FEM_MASS_SOLVE_H

#include <stdbool.h>

#include "base/status.h"
#include "fem/fem.h"
#include "linalg/cholesky.h"

typedef struct rf_solid_mass {
  const rf_solid *solid;  // borrowed: must outlive this
  rf_cholesky *factor;    // of the scalar mass, NULL: lumped
  double *columns;        // one column per axis                    (3, n_free)
} rf_solid_mass;

// True if explicit steps use the lumped mass.  Cut cells need the consistent one: some motions of a
// barely filled cell hardly strain it but have full lumped mass, which puts their frequencies among
// the lowest of the body.
bool rf_solid_steps_lumped(const rf_solid *solid);

RF_MUST_CHECK rf_status rf_solid_mass_init(rf_solid_mass *m, const rf_solid *solid,
                                           const rf_run *run, bool lumped, rf_error *err);
void rf_solid_mass_release(rf_solid_mass *m);  // a zeroed struct is allowed

// Computes y = M^-1 x at free nodes, both (n, 3); y may equal x; its values at fixed nodes are
// unchanged, and constrained ones follow their masters.
RF_MUST_CHECK rf_status rf_solid_mass_solve(rf_solid_mass *m, const rf_run *run, const double *x,
                                            double *y, rf_error *err);

#endif
