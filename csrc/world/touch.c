#include "world/touch.h"

#include "base/alloc.h"
#include "linalg/dense_rt.h"

rf_status rf_touch_reserve(rf_touch *t, rf_error *err) {
  rf_status st = RF_OK;
  t->size = t->side[0].size + t->side[1].size;
  if (t->size <= t->room) return st;
  rf_touch_free(t);
  t->room = 0;
  RF_ALLOC(t->force, t->size);
  RF_ALLOC(t->applied, t->size);
  RF_ALLOC(t->stiffness, (size_t)t->size * (size_t)t->size);
  t->room = t->size;
done:
  return st;
}

void rf_touch_free(rf_touch *t) {
  rf_free(t->force);
  rf_free(t->applied);
  rf_free(t->stiffness);
  t->force = t->applied = t->stiffness = NULL;
  t->room = 0;
}

static rf_status reserve(double **block, int32_t *room, int32_t size, rf_error *err) {
  rf_status st = RF_OK;
  if (size <= *room) return st;
  rf_free(*block);
  *block = NULL;
  *room = 0;
  RF_ALLOC(*block, size);
  *room = size;
done:
  return st;
}

rf_status rf_touch_blocks_reserve(rf_touch_blocks *b, const rf_touch *t, rf_error *err) {
  const int32_t rows = rf_dense_ld(6 + t->side[1].r), ld = rf_dense_ld(t->side[0].r);
  rf_status st = RF_OK;
  RF_TRY(reserve(&b->object, &b->object_room, rows * rows, err));
  RF_TRY(reserve(&b->mixed, &b->mixed_room, rows * ld, err));
  RF_TRY(reserve(&b->shell, &b->shell_room, ld * ld, err));
done:
  return st;
}

void rf_touch_blocks_free(rf_touch_blocks *b) {
  rf_free(b->object);
  rf_free(b->mixed);
  rf_free(b->shell);
}
