// Implicit Newmark for the unreduced solid: the scheme of newmark.h with its displacement
// (n_nodes, 3), zero at fixed nodes, for x.
#ifndef RF_INTEGRATOR_NEWMARK_SOLID_H
#define RF_INTEGRATOR_NEWMARK_SOLID_H

#include "fem/fem.h"
#include "integrator/newmark.h"

typedef struct rf_solid_newmark rf_solid_newmark;

RF_MUST_CHECK rf_status rf_solid_newmark_create(const rf_solid *solid, const rf_run *run,
                                                const rf_newmark_settings *set,
                                                rf_solid_newmark **out, rf_error *err);
void rf_solid_newmark_free(rf_solid_newmark *s);
RF_MUST_CHECK rf_status rf_solid_newmark_reset(rf_solid_newmark *s, const rf_run *run,
                                               const double *u, const double *v, const double *a,
                                               rf_error *err);
RF_MUST_CHECK rf_status rf_solid_newmark_step(rf_solid_newmark *s, const rf_run *run,
                                              const double *force, int64_t n, rf_error *err);
// Read-only views of the state; n_nodes * 3 numbers each.
const double *rf_solid_newmark_u(const rf_solid_newmark *s);
const double *rf_solid_newmark_v(const rf_solid_newmark *s);
const double *rf_solid_newmark_a(const rf_solid_newmark *s);
void rf_solid_newmark_set_steps(rf_solid_newmark *s, int64_t steps);  // and so the time
double rf_solid_newmark_time(const rf_solid_newmark *s);
rf_newmark_report rf_solid_newmark_report(const rf_solid_newmark *s);

#endif
