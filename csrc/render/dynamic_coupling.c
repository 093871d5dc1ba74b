#include "render/dynamic_coupling.h"

#include <math.h>
#include <stddef.h>

rf_status rf_dynamic_check(const rf_dynamic_settings *set, rf_error *err) {
  const rf_status st = rf_coupling_check(&set->spring, err);
  if (st < 0) return st;
  const struct {
    double value;
    const char *name;
    bool may_be_zero;
  } all[] = {{set->mass_kg, "mass", false},
             {set->inertia_kg_m2, "inertia", false},
             {set->damping_n_s_per_m, "viscosity", true},
             {set->torsion_damping_nm_s, "torsional_viscosity", true},
             {set->dt_s, "dt", false}};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (!(isfinite(all[i].value) &&
          (all[i].may_be_zero ? all[i].value >= 0.0 : all[i].value > 0.0)))
      return rf_fail(err, RF_ERR_ARG, "%s must be finite and %s, got %g", all[i].name,
                     all[i].may_be_zero ? "not negative" : "positive", all[i].value);
  if (!(set->substeps >= 1 && set->substeps <= RF_DYNAMIC_MOST_SUBSTEPS))
    return rf_fail(err, RF_ERR_ARG, "substeps must be between 1 and %d, got %d",
                   RF_DYNAMIC_MOST_SUBSTEPS, (int)set->substeps);
  return RF_OK;
}
