#include "world/multibody_contacts.h"

#include "base/alloc.h"

enum { LEAST_ROOM = 16 };

// Returns the entry of a pair, or the free one where it belongs; there is one.
static rf_multibody_contact *probe(rf_multibody_contact *entries, int32_t room, int32_t tree,
                                   int32_t field) {
  // odd factors spread neighbours; the upper bits of the product are the mixed ones
  const uint64_t mixed =
      ((uint64_t)(uint32_t)tree << 32 | (uint32_t)field) * UINT64_C(0x9E3779B97F4A7C15);
  uint32_t at = (uint32_t)(mixed >> 32) & (uint32_t)(room - 1);
  while (entries[at].taken && !(entries[at].tree == tree && entries[at].field == field))
    at = (at + 1) & (uint32_t)(room - 1);
  return &entries[at];
}

static rf_status grow(rf_multibody_contacts *t, rf_error *err) {
  rf_status st = RF_OK;
  rf_multibody_contact *more = NULL;
  const int32_t room = t->room ? 2 * t->room : LEAST_ROOM;
  RF_ALLOC(more, room);
  for (int32_t i = 0; i < t->room; ++i)
    if (t->entries[i].taken)
      *probe(more, room, t->entries[i].tree, t->entries[i].field) = t->entries[i];
  rf_free(t->entries);
  t->entries = more;
  t->room = room;
done:
  return st;
}

rf_status rf_multibody_contacts_find(rf_multibody_contacts *t, int32_t tree, int32_t field,
                                     rf_multibody_contact **out, rf_error *err) {
  rf_status st = RF_OK;
  if (t->room == 0) RF_TRY(grow(t, err));
  rf_multibody_contact *e = probe(t->entries, t->room, tree, field);
  if (!e->taken) {
    if (2 * (t->count + 1) > t->room) {
      RF_TRY(grow(t, err));
      e = probe(t->entries, t->room, tree, field);
    }
    *e = (rf_multibody_contact){.tree = tree, .field = field, .taken = true};
    ++t->count;
  }
  *out = e;
done:
  return st;
}

void rf_multibody_contacts_free(rf_multibody_contacts *t) {
  for (int32_t i = 0; i < t->room; ++i) rf_contact_free(t->entries[i].contact);
  rf_free(t->entries);
  *t = (rf_multibody_contacts){0};
}
