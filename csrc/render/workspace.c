#include "render/workspace.h"

rf_status rf_workspace_check(const rf_workspace_settings *set, rf_error *err) {
  const rf_pose aligned = {
      {0.0, 0.0, 0.0},
      {set->alignment[0], set->alignment[1], set->alignment[2], set->alignment[3]}};
  if (!(set->scale > 0.0 && isfinite(set->scale)))
    return rf_fail(err, RF_ERR_ARG, "scale must be positive and finite, got %g", set->scale);
  if (!(set->force_scale > 0.0 && isfinite(set->force_scale)))
    return rf_fail(err, RF_ERR_ARG, "force_scale must be positive and finite, got %g",
                   set->force_scale);
  const rf_status st = rf_pose_check(&aligned, err);
  return st < 0 ? st : rf_pose_check(&set->start, err);
}
