#include "pointshell/blend.h"

#include "base/run.h"

enum { K = RF_SHELL_BLEND_NEAREST, BATCH = 64 };

typedef struct build {
  const rf_shell_blend_points *points, *places;
  int32_t *number;
  double *weight;
} build;

static rf_status place_task(void *context, int64_t task, int worker, rf_error *err) {
  const build *b = context;
  const int64_t end = BATCH * (task + 1) < b->places->n ? BATCH * (task + 1) : b->places->n;
  (void)worker;
  (void)err;
  for (int64_t p = BATCH * task; p < end; ++p)
    rf_shell_blend_place_rt(b->points, b->places->at + 3 * p, b->places->outward + 3 * p,
                            b->number + K * p, b->weight + K * p);
  return RF_OK;
}

rf_status rf_shell_blend(const rf_shell_blend_points *points, const rf_shell_blend_points *places,
                         const rf_run *run, int32_t *number, double *weight, rf_error *err) {
  build b = {.points = points, .places = places, .number = number, .weight = weight};
  return rf_run_tasks(run, ((int64_t)places->n + BATCH - 1) / BATCH, 1, place_task, &b, err);
}
