#include "world/pair_springs.h"

#include <math.h>
#include <string.h>

// Friction resists across the direction in which a point slips, and along it by the secant alone.
static int32_t list_friction(const rf_pair_rows *t, int32_t i, bool secant, rf_pair_spring *out) {
  const double stiffness = rf_pair_friction_stiffness_rt(t, i), root = sqrt(stiffness);
  const double *trial = t->friction.trial + 2 * (size_t)i;
  const double size = hypot(trial[0], trial[1]);
  const bool slips = size > t->friction.limit[i];
  const double x = slips ? trial[0] / size : 1.0, y = slips ? trial[1] / size : 0.0;
  int32_t n = 0;
  if (!(stiffness > 0.0)) return 0;
  out[n++] = (rf_pair_spring){i, {0.0, -root * y, root * x}};
  if (secant || !slips) out[n++] = (rf_pair_spring){i, {0.0, root * x, root * y}};
  return n;
}

int32_t rf_pair_springs_list_rt(const rf_pair_rows *t, double factor, bool secant,
                                rf_pair_spring *out) {
  int32_t n = 0;
  for (int32_t i = 0; i < t->n_rows; ++i) {
    if (t->force[i] < 0.0) out[n++] = (rf_pair_spring){i, {sqrt(factor * t->stiff[i])}};
    if (t->friction.mu > 0.0) n += list_friction(t, i, secant, out + n);
  }
  return n;
}

double rf_pair_springs_along_rt(const rf_pair_rows *t, const rf_pair_spring *s,
                                const rf_pair_slots *u) {
  double sum = 0.0;
  for (int e = 0; e < RF_PAIR_SPRINGS; ++e)
    if (s->part[e] != 0.0) sum += s->part[e] * rf_pair_rows_closing_rt(t, s->point, e, u);
  return sum;
}

void rf_pair_springs_load_rt(rf_pair_rows *t, int32_t n, const rf_pair_spring *s, const double *f) {
  rf_pair_rows_clear_rt(t);
  for (int32_t k = 0; k < n; ++k)
    for (int e = 0; e < RF_PAIR_SPRINGS; ++e)
      if (s[k].part[e] != 0.0) rf_pair_rows_apply_rt(t, s[k].point, e, s[k].part[e] * f[k]);
}
