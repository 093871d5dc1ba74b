#include "green/contacts.h"

#include "base/alloc.h"
#include "green/contacts_state.h"
#include "linalg/dense_rt.h"

rf_status rf_green_contacts_create(const rf_green *g, int32_t most, rf_green_contacts **out,
                                   rf_error *err) {
  rf_status st = RF_OK;
  rf_green_contacts *c = NULL;
  *out = NULL;
  if (!(most >= 1 && most <= RF_GREEN_MOST_CONTACTS))
    return rf_fail(err, RF_ERR_ARG, "max_contacts must be between 1 and %d, got %d",
                   (int)RF_GREEN_MOST_CONTACTS, (int)most);
  RF_ALLOC(c, 1);
  c->g = g;
  c->most = most;
  c->ld = rf_dense_ld(3 * most);
  const int64_t ld = c->ld;
  RF_ALLOC(c->held, most);
  RF_ALLOC(c->owner, ld);
  RF_ALLOC(c->compliance, ld * ld);
  RF_ALLOC(c->inverse, ld * ld);
  RF_ALLOC(c->coupling, 4 * ld);
  RF_ALLOC(c->x, 4 * ld);
  RF_ALLOC(c->scaled, 4 * ld);
  RF_ALLOC(c->target, ld);
  RF_ALLOC(c->force, ld);
  RF_ALLOC(c->residual, ld);
  *out = c;
  c = NULL;
done:
  rf_green_contacts_free(c);
  return st;
}

void rf_green_contacts_free(rf_green_contacts *c) {
  if (!c) return;
  rf_free(c->held);
  rf_free(c->owner);
  rf_free(c->compliance);
  rf_free(c->inverse);
  rf_free(c->coupling);
  rf_free(c->x);
  rf_free(c->scaled);
  rf_free(c->target);
  rf_free(c->force);
  rf_free(c->residual);
  rf_free(c);
}

int32_t rf_green_contacts_count(const rf_green_contacts *c) { return c->count; }
int32_t rf_green_contacts_place(const rf_green_contacts *c, int32_t k) { return c->held[k].place; }

int32_t rf_green_contacts_find(const rf_green_contacts *c, int32_t place) {
  for (int32_t k = 0; k < c->count; ++k)
    if (c->held[k].place == place) return k;
  return -1;
}
