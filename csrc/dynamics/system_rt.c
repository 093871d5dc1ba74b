#include <float.h>
#include <math.h>

#include "dynamics/system.h"

double rf_system_rounding_rt(const rf_system *s, const double *stiffness, const double *x) {
  double sum = 0.0;
  for (int32_t i = 0; i < s->n; ++i) {
    double row = 0.0;
    for (int32_t j = 0; j < s->n; ++j) row += fabs(stiffness[i * s->ld + j] * x[j]);
    sum += row * row;
  }
  return DBL_EPSILON * sqrt(sum);
}

double rf_system_trace_ratio_rt(const rf_system *s, const double *stiffness, const double *mass) {
  double above = 0.0, below = 0.0;
  for (int32_t i = 0; i < s->n; ++i) {
    above += fabs(stiffness[i * s->ld + i]);
    below += mass[i * s->ld + i];
  }
  return above / below;
}
