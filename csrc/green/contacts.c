#include "green/contacts.h"

#include <string.h>

#include "base/alloc.h"
#include "green/contacts_state.h"
#include "green/packed.h"
#include "green/release.h"
#include "linalg/dense_rt.h"

// Fills what the release of supports adds to G.
static rf_status release_supports(rf_green_contacts *c, const rf_run *run, int32_t n,
                                  const int32_t *released, rf_error *err) {
  rf_status st = RF_OK;
  bool good = true;
  const rf_green *g = c->g;
  const int64_t field = 3 * (int64_t)rf_green_rows(g);
  double *modes = NULL;
  rf_green_release r = {0};
  RF_TRY(rf_green_release_create(g, n, released, &r, err));
  RF_TRY(rf_green_release_factorize(&r, run, 0.0, &good, err));
  if (!good) {
    st =
        rf_fail(err, RF_ERR_SINGULAR,
                "released leaves too few fixed nodes: the solid could move as a rigid body, which "
                "contacts that come and go do not prevent; release fewer, or use contact or solve");
    goto done;
  }
  RF_ALLOC(modes, r.n * field);
  RF_ALLOC(c->release, 3 * (int64_t)g->count * r.ld);
  c->released = r.ld;
  for (int32_t k = 0; k < r.n; ++k)
    memcpy(modes + k * field, rf_green_release_mode(&r, k), (size_t)field * sizeof *modes);
  rf_dense_half_solve_rt(g->simd, r.n, r.factor, r.ld, (int32_t)field, modes);
  for (int64_t i = 0; i < 3 * g->count; ++i)
    for (int32_t k = 0; k < r.n; ++k) c->release[i * r.ld + k] = modes[k * field + i];
done:
  rf_green_release_free(&r);
  rf_free(modes);
  return st;
}

rf_status rf_green_contacts_create(const rf_green *g, const rf_run *run, int32_t most,
                                   int32_t n_released, const int32_t *released,
                                   rf_green_contacts **out, rf_error *err) {
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
  if (n_released > 0) RF_TRY(release_supports(c, run, n_released, released, err));
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
  rf_free(c->release);
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

rf_status rf_green_contacts_add(rf_green_contacts *c, int32_t place, const double *normal) {
  const double before = c->lift;
  rf_status st = rf_green_contacts_add_rt(c, place, normal);
  while (st == RF_ERR_SINGULAR) {
    const double lift = rf_green_next_lift(c->g, c->lift);
    if (lift == 0.0) {
      if (c->lift != before) c->stale = !rf_green_contacts_refill(c, before);
      return st;
    }
    c->stale = !rf_green_contacts_refill(c, lift);
    st = rf_green_contacts_add_rt(c, place, normal);
  }
  return st;
}

double rf_green_contacts_lift(const rf_green_contacts *c) { return c->lift; }

int32_t rf_green_contacts_count(const rf_green_contacts *c) { return c->count; }
int32_t rf_green_contacts_place(const rf_green_contacts *c, int32_t k) { return c->held[k].place; }

int32_t rf_green_contacts_find(const rf_green_contacts *c, int32_t place) {
  for (int32_t k = 0; k < c->count; ++k)
    if (c->held[k].place == place) return k;
  return -1;
}
