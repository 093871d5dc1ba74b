// Static equilibrium of a reduced model or a projected solid, R~(q) = f~ (B07 2.1.10: the equations
// of motion without mass and damping).
#ifndef RF_MODEL_REDUCED_STATICS_H
#define RF_MODEL_REDUCED_STATICS_H

#include "base/status.h"
#include "fem/fem.h"
#include "model/projected.h"
#include "model/reduced_model.h"

// By fem/newton.h: q (r) is the start value in, the solution out; on every failure it holds the
// last converged load step, or the start value if there was none.
RF_MUST_CHECK rf_status rf_reduced_solve_static(const rf_reduced *model, const rf_run *run,
                                                const rf_static_settings *set, const double *force,
                                                double *q, rf_static_report *report, rf_error *err);
RF_MUST_CHECK rf_status rf_projected_solve_static(const rf_projected *model, const rf_run *run,
                                                  const rf_static_settings *set,
                                                  const double *force, double *q,
                                                  rf_static_report *report, rf_error *err);

#endif
