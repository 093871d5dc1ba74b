#include "render/touch.h"

#include "base/alloc.h"

rf_status rf_touch_create(const rf_touch_kind *kind, void *self, int32_t coordinates,
                          double delay_s, rf_touch **out, rf_error *err) {
  rf_touch *touch = rf_alloc(1, sizeof *touch);
  *out = touch;
  if (!touch) {
    kind->release(self);
    return rf_fail(err, RF_ERR_MEMORY, "out of memory: a body to touch");
  }
  *touch = (rf_touch){kind, self, coordinates, delay_s};
  return RF_OK;
}

rf_status rf_touch_copy(const rf_touch *touch, rf_touch **out, rf_error *err) {
  void *self;
  *out = NULL;
  const rf_status st = touch->kind->copy(touch->self, &self, err);
  if (st < 0) return st;
  return rf_touch_create(touch->kind, self, touch->coordinates, touch->delay_s, out, err);
}

void rf_touch_free(rf_touch *touch) {
  if (!touch) return;
  touch->kind->release(touch->self);
  rf_free(touch);
}
