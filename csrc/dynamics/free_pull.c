#include "dynamics/free_pull.h"

#include <math.h>

rf_status rf_free_body_pull_check(const rf_free_body_pull *p, int32_t r, rf_error *err) {
  if (!(p->stiffness >= 0.0 && isfinite(p->stiffness)))
    return rf_fail(err, RF_ERR_ARG, "stiffness must be finite and at least 0, got %g",
                   p->stiffness);
  if (!(p->damping >= 0.0 && isfinite(p->damping)))
    return rf_fail(err, RF_ERR_ARG, "damping must be finite and at least 0, got %g", p->damping);
  for (int a = 0; a < 3; ++a)
    if (!isfinite(p->rest_m[a]))
      return rf_fail(err, RF_ERR_ARG, "rest[%d] is %g; it must be finite", a, p->rest_m[a]);
  for (int64_t i = 0; i < 3 * (int64_t)r; ++i)
    if (!isfinite(p->rows[i]))
      return rf_fail(err, RF_ERR_ARG, "rows must be finite, one is %g", p->rows[i]);
  return RF_OK;
}
