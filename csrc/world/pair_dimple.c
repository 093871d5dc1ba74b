#include "world/pair_dimple.h"

#include "base/alloc.h"

void rf_pair_dimple_free(rf_pair_dimple *d) {
  rf_free(d->point);
  rf_free(d->at);
  rf_free(d->weight);
  rf_free(d->axes);
  rf_free(d->pull);
  *d = (rf_pair_dimple){0};
}

rf_status rf_pair_dimple_reserve(rf_pair_dimple *d, int32_t n, rf_error *err) {
  rf_status st = RF_OK;
  const rf_pair_dimple fresh = {.yields = d->yields, .node = d->node, .corners = d->corners};
  if (n <= d->n_room) return st;
  rf_pair_dimple_free(d);
  *d = fresh;
  // more points touch in the next steps
  const int32_t most = n + n / 2;
  const size_t points = (size_t)most * (size_t)d->corners;
  RF_ALLOC(d->point, points);
  RF_ALLOC(d->at, points);
  RF_ALLOC(d->weight, points);
  RF_ALLOC(d->axes, 9 * (size_t)most);
  RF_ALLOC(d->pull, 3 * (size_t)most);
  d->n_room = most;
done:
  return st;
}
