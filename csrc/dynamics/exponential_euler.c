#include <math.h>

#include "base/arena.h"
#include "dynamics/exponential_euler.h"
#include "linalg/dense_rt.h"

static void layout(const rf_system *s, const void *settings, rf_arena *a) {
  const size_t ld = (size_t)s->ld, size = (size_t)rf_exponential_size(s, settings),
               padded = size + RF_DENSE_PAD;
  const size_t square = s->operations->dense ? ld * ld : 0, sparse = s->operations->dense ? 0 : ld;
  rf_exponential_work *w = rf_arena_take(a, 1, sizeof *w);
  rf_exponential_work unused;
  if (!a->base) w = &unused;
  double **const dense[] = {&w->transform, &w->transposed, &w->matrix, &w->product};
  for (int i = 0; i < 4; ++i) *dense[i] = rf_arena_take(a, square, sizeof(double));
  double **const small[] = {&w->diagonal, &w->beside};
  for (int i = 0; i < 2; ++i) *small[i] = rf_arena_take(a, padded, sizeof(double));
  double **const both[] = {&w->rate, &w->force, &w->change, &w->rate_change};
  for (int i = 0; i < 4; ++i)
    *both[i] = rf_arena_take(a, ld > padded ? ld : padded, sizeof(double));
  w->scratch = rf_arena_take(a, 2 * ld, sizeof(double));
  w->vectors = rf_arena_take(a, (size + 1) * sparse, sizeof(double));
  w->loads = rf_arena_take(a, 2 * sparse, sizeof(double));
  w->zero = rf_arena_take(a, ld, sizeof(double));
  w->apply = rf_arena_take(a, rf_exponential_work_bytes((int32_t)size), 1);
}

static rf_status check(const void *settings, rf_error *err) {
  const rf_exponential_settings *set = settings;
  if (!(set->accuracy > 0.0 && set->accuracy <= 1e-2))
    return rf_fail(err, RF_ERR_ARG, "accuracy must be positive and at most 0.01, got %g",
                   set->accuracy);
  if (set->krylov < 2)
    return rf_fail(err, RF_ERR_ARG, "krylov must be at least 2, got %d", set->krylov);
  return RF_OK;
}

#define SETTING(name, field, kind) RF_SETTING(rf_exponential_settings, name, field, kind, 0)
static const rf_setting SETTINGS[] = {
    SETTING("accuracy", accuracy, DOUBLE), SETTING("krylov", krylov, INT32), {0}};

const rf_scheme rf_scheme_exponential_euler = {.name = "exponential_euler",
                                               .mass_only = true,
                                               .exact = true,
                                               .settings = SETTINGS,
                                               .settings_bytes = sizeof(rf_exponential_settings),
                                               .check = check,
                                               .layout = layout,
                                               .step_rt = rf_exponential_step_rt};
