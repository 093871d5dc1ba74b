#include "world/pair_friction.h"

#include "base/alloc.h"

void rf_pair_friction_free(rf_pair_friction *f) {
  rf_free(f->rows);
  rf_free(f->axes);
  rf_free(f->at);
  rf_free(f->last);
  rf_free(f->trial);
  rf_free(f->slope);
  rf_free(f->limit);
  rf_free(f->before);
  rf_free(f->part);
  rf_free(f->past);
  *f = (rf_pair_friction){.mu = f->mu};
}

rf_status rf_pair_friction_reserve(rf_pair_friction *f, int32_t n, int32_t size, rf_error *err) {
  rf_status st = RF_OK;
  if ((int64_t)n * size <= f->row_room && n <= f->n_room) return st;
  rf_pair_friction_free(f);
  // more points touch in the next steps
  const int32_t most = n + n / 2;
  RF_ALLOC(f->rows, 2 * (size_t)most * (size_t)size);
  RF_ALLOC(f->axes, 6 * (size_t)most);
  RF_ALLOC(f->at, 3 * (size_t)most);
  RF_ALLOC(f->last, 2 * (size_t)most);
  RF_ALLOC(f->trial, 2 * (size_t)most);
  RF_ALLOC(f->slope, 2 * (size_t)most);
  RF_ALLOC(f->limit, most);
  RF_ALLOC(f->before, most);
  RF_ALLOC(f->part, most);
  RF_ALLOC(f->past, 2 * RF_FRICTION_PAST * (size_t)most);
  f->row_room = (int64_t)most * size;
  f->n_room = most;
done:
  return st;
}
