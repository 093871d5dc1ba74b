#include "world/pair_rows.h"

#include "base/alloc.h"

static void free_rows(rf_pair_rows *t) {
  rf_free(t->place);
  rf_free(t->rows);
  rf_free(t->begin);
  rf_free(t->stiff);
  rf_free(t->force);
  rf_free(t->slope);
  rf_free(t->applied);
  t->place = NULL;
  t->rows = t->begin = t->stiff = t->force = t->slope = t->applied = NULL;
  t->row_room = 0;
  t->n_room = t->room = 0;
}

void rf_pair_rows_free(rf_pair_rows *t) {
  free_rows(t);
  rf_pair_friction_free(&t->friction);
  for (int s = 0; s < 2; ++s) rf_pair_dimple_free(&t->dimple[s]);
}

rf_status rf_pair_rows_reserve(rf_pair_rows *t, int32_t n, rf_error *err) {
  rf_status st = RF_OK;
  t->size = t->side[0].size + t->side[1].size;
  if (t->friction.mu > 0.0) RF_TRY(rf_pair_friction_reserve(&t->friction, n, t->size, err));
  for (int s = 0; s < 2; ++s)
    if (t->dimple[s].yields) RF_TRY(rf_pair_dimple_reserve(&t->dimple[s], n, err));
  const int64_t values = (int64_t)n * t->size;
  if (values <= t->row_room && n <= t->n_room && t->size <= t->room) return st;
  free_rows(t);
  // more points touch in the next steps
  const int32_t most = n + n / 2;
  RF_ALLOC(t->place, most);
  RF_ALLOC(t->rows, (size_t)most * (size_t)t->size);
  RF_ALLOC(t->begin, most);
  RF_ALLOC(t->stiff, most);
  RF_ALLOC(t->force, most);
  RF_ALLOC(t->slope, most);
  RF_ALLOC(t->applied, t->size);
  t->row_room = (int64_t)most * t->size;
  t->n_room = most;
  t->room = t->size;
done:
  return st;
}
