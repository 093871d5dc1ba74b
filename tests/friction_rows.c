// Friction of one pair whose rows a test makes: forces, derivative, slopes and work.
#include <string.h>

#include "world/pair_rows.h"

// rows: T (n, 2, first + second) for slots of two sides.  u and step: of both sides, one after the
// other.  limits: nullable, then they follow the normal forces.  out: force, derivative times step
// by tangent and by secant (3, first + second), work at `part` of the step, limits (n).
double friction_of(int32_t n, int32_t first, int32_t second, double mu, const double *rows,
                   const double *stiff, const double *last, const double *normal,
                   const double *limits, const double *u, const double *step, double part,
                   double *out, double *found, double *own) {
  const int32_t size = first + second;
  rf_pair_rows t = {0};
  rf_error err = {0};
  t.side[0].size = first;
  t.side[1].size = second;
  t.size = size;
  t.n_rows = n;
  t.stiff = (double *)stiff;
  t.force = (double *)normal;
  t.friction.mu = mu;
  t.dimple_damping = 1.0;
  if (rf_pair_friction_reserve(&t.friction, n, size, &err) < 0) return -1.0;
  memcpy(t.friction.rows, rows, 2 * (size_t)n * (size_t)size * sizeof *rows);
  memcpy(t.friction.last, last, 2 * (size_t)n * sizeof *last);
  if (limits) memcpy(t.friction.limit, limits, (size_t)n * sizeof *limits);
  memset(out, 0, 3 * (size_t)size * sizeof *out);
  t.applied = out;
  const rf_pair_slots ways = {.side = {u, u + first}}, steps = {.side = {step, step + first}};
  rf_pair_friction_push_rt(&t, limits != NULL, &ways);
  for (int e = 0; e < 2; ++e) {
    t.applied = out + (e + 1) * size;
    rf_pair_friction_multiply_rt(&t, e == 1, &steps);
  }
  rf_pair_friction_aim_rt(&t, &steps);
  memcpy(found, t.friction.limit, (size_t)n * sizeof *found);
  rf_pair_friction_add_own_rt(&t, 0, own, first);
  const double work = rf_pair_friction_work_rt(&t, part);
  rf_pair_friction_free(&t.friction);
  return work;
}
