#include "linalg/cubic.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/vec3.h"

void rf_cubic_free(rf_cubic *c) {
  if (!c) return;
  rf_free(c->first);
  rf_free(c->near);
  rf_free(c->at);
  rf_free(c->entry);
  rf_free(c);
}

// Counts the numbers up to i that are near it, and lists them unless `to` is NULL.
static int32_t list_near(int32_t i, const double *place, double reach, int32_t *to) {
  int32_t count = 0;
  for (int32_t j = 0; j <= i; ++j) {
    double d[3];
    rf_vec3_sub(place + 3 * (int64_t)i, place + 3 * (int64_t)j, d);
    if (j < i && !(rf_vec3_dot(d, d) <= reach * reach)) continue;
    if (to) to[count] = j;
    ++count;
  }
  return count;
}

rf_status rf_cubic_create(int32_t n, const double *place, double reach, int64_t most,
                          rf_cubic **out, rf_error *err) {
  rf_status st = RF_OK;
  rf_cubic *c = NULL;
  *out = NULL;
  RF_ALLOC(c, 1);
  c->n = n;
  RF_ALLOC(c->first, (int64_t)n + 1);
  RF_ALLOC(c->at, (int64_t)n + 1);
  for (int32_t i = 0; i < n; ++i) {
    const int64_t count = list_near(i, place, reach, NULL);
    c->first[i + 1] = c->first[i] + count;
    c->at[i + 1] = c->at[i] + count * (count + 1) / 2;
    if (count > c->widest) c->widest = (int32_t)count;
  }
  if (c->at[n] > most) {
    st = rf_fail(err, RF_ERR_ARG,
                 "reach %g m is too large for these %d points: up to %d of them are near each "
                 "other, which takes %.3g GB; take a smaller one, or fewer points",
                 reach, (int)n, (int)c->widest, 4e-9 * (double)c->at[n]);
    goto done;
  }
  RF_ALLOC(c->near, c->first[n]);
  RF_ALLOC(c->entry, c->at[n]);
  for (int32_t i = 0; i < n; ++i) list_near(i, place, reach, c->near + c->first[i]);
  *out = c;
  c = NULL;
done:
  rf_cubic_free(c);
  return st;
}
