#include "dynamics/system.h"

#include <math.h>

#include "linalg/vec3.h"

rf_status rf_system_damping_check(const rf_system_damping *damping, rf_error *err) {
  if (isfinite(damping->mass) && damping->mass >= 0.0 && isfinite(damping->stiffness) &&
      damping->stiffness >= 0.0)
    return RF_OK;
  return rf_fail(err, RF_ERR_ARG, "damping must be two finite numbers >= 0, got (%g, %g)",
                 damping->mass, damping->stiffness);
}

void rf_system_free(rf_system *s) {
  if (s) s->life->release(s);
}

double rf_system_largest_move(int32_t n, const double *displacement, bool is_free) {
  double mean[3] = {0.0, 0.0, 0.0}, largest = 0.0;
  for (int32_t i = 0; is_free && i < n; ++i)
    for (int c = 0; c < 3; ++c) mean[c] += displacement[3 * (int64_t)i + c] / n;
  for (int32_t i = 0; i < n; ++i) {
    double move[3];
    rf_vec3_sub(displacement + 3 * (int64_t)i, mean, move);
    largest = fmax(largest, rf_vec3_length(move));
  }
  return largest;
}
