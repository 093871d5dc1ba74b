#include "world/driven.h"

#include "base/alloc.h"
#include "linalg/dense_rt.h"

rf_status rf_driven_create(int32_t r, rf_driven **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_driven *d = NULL;
  const int32_t ld = rf_dense_ld(r);
  RF_ALLOC(d, 1);
  RF_ALLOC(d->blocks.shell, ld * ld);
  RF_ALLOC(d->force, ld);
  *out = d;
  d = NULL;
done:
  rf_driven_free(d);
  return st;
}

void rf_driven_free(rf_driven *d) {
  if (!d) return;
  rf_free(d->blocks.shell);
  rf_free(d->force);
  rf_free(d);
}
