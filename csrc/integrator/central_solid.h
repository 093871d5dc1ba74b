// Explicit central differences for the unreduced solid: the scheme of central.h, with the lumped
// mass or, of cut cells, the consistent one (fem/mass_solve.h).
#ifndef RF_INTEGRATOR_CENTRAL_SOLID_H
#define RF_INTEGRATOR_CENTRAL_SOLID_H

#include "fem/mass_solve.h"
#include "integrator/central.h"
#include "integrator/solid_motion.h"

// The stable step at u (NULL: rest), as rf_reduced_stable_step.  With the lumped mass it uses
// rf_solid_highest_bound, a guarantee for the linear system there; with the consistent mass it uses
// rf_solid_highest plus 2 % for the error of that estimate.
RF_MUST_CHECK rf_status rf_solid_stable_step(const rf_solid *solid, const rf_run *run,
                                             const double *u, double damping_stiff,
                                             const double *viscosity, double *step, rf_error *err);

typedef struct rf_solid_central {
  rf_central_settings set;
  rf_solid_motion motion;  // and the state
  rf_solid_mass mass;
  double time_s;
  int64_t steps;  // since the last reset
} rf_solid_central;

RF_MUST_CHECK rf_status rf_solid_central_create(const rf_solid *solid, const rf_run *run,
                                                const rf_central_settings *set,
                                                rf_solid_central **out, rf_error *err);
void rf_solid_central_free(rf_solid_central *s);  // NULL is fine
RF_MUST_CHECK rf_status rf_solid_central_reset(rf_solid_central *s, const rf_run *run,
                                               const double *u, const double *v, const double *a,
                                               rf_error *err);
RF_MUST_CHECK rf_status rf_solid_central_step(rf_solid_central *s, const rf_run *run,
                                              const double *force, int64_t n, rf_error *err);

#endif
