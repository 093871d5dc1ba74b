// Static equilibrium in reduced coordinates.
#include <math.h>
#include <string.h>

#include "dynamics/equilibrium.h"

static rf_status check(int32_t r, const rf_static_settings *set, const double *force,
                       const double *q, rf_error *err) {
  for (int32_t i = 0; i < r; ++i)
    if (!(isfinite(force[i]) && isfinite(q[i])))
      return rf_fail(err, RF_ERR_ARG, "force[%d] is %g and q0[%d] is %g; both must be finite", i,
                     force[i], i, q[i]);
  return rf_statics_check(set, err);
}

// Takes the system over.
static rf_status solve(rf_system *system, const rf_run *run, const rf_static_settings *set,
                       const double *force, double *q, rf_static_report *report, rf_error *err) {
  rf_equilibrium *e;
  rf_status st = rf_equilibrium_create(system, NULL, NULL, &e, err);
  if (st < 0) return st;
  e->system->run = run;
  st = rf_system_require_defined(e->system, q, "q0", err);
  // at_rest stays false: a free model has a singular stiffness at rest
  if (st >= 0) st = rf_equilibrium_solve(e, run, set, force, q, report, err);
  report->inverted = -1;
  rf_equilibrium_free(e);
  return st;
}

static rf_status solve_model(rf_system_create *create, const void *model, int32_t r,
                             const rf_run *run, const rf_static_settings *set, const double *force,
                             double *q, rf_static_report *report, rf_error *err) {
  rf_system *system;
  memset(report, 0, sizeof *report);
  rf_status st = check(r, set, force, q, err);
  if (st >= 0) st = create(model, NULL, &(rf_system_damping){0}, false, &system, err);
  return st < 0 ? st : solve(system, run, set, force, q, report, err);
}

rf_status rf_statics_solve_reduced(const rf_reduced *model, const rf_run *run,
                                   const rf_static_settings *set, const double *force, double *q,
                                   rf_static_report *report, rf_error *err) {
  return solve_model(rf_system_reduced, model, model->r, run, set, force, q, report, err);
}

rf_status rf_statics_solve_projected(const rf_projected *model, const rf_run *run,
                                     const rf_static_settings *set, const double *force, double *q,
                                     rf_static_report *report, rf_error *err) {
  return solve_model(rf_system_projected, model, model->r, run, set, force, q, report, err);
}
