// Contacts of pairs of shapes in the memory of one worker, made when a pair is first searched
// (multibody_search.h).
#ifndef RF_WORLD_MULTIBODY_CONTACTS_H
#define RF_WORLD_MULTIBODY_CONTACTS_H

#include <stdint.h>

#include "base/status.h"
#include "contact/contact.h"

typedef struct rf_multibody_contact {
  int32_t tree, field;  // shapes; field -1: the ground
  rf_contact *contact;  // owned; NULL: not made yet
  bool taken;           // false: a free entry
} rf_multibody_contact;

// A hash table with linear probing; zero to begin with.
typedef struct rf_multibody_contacts {
  int32_t count, room;            // room: 0 or a power of two, at least twice the count
  rf_multibody_contact *entries;  // (room)
} rf_multibody_contacts;

// Finds the entry of a pair of shapes, or adds one; it is valid until the next call.
RF_MUST_CHECK rf_status rf_multibody_contacts_find(rf_multibody_contacts *table, int32_t tree,
                                                   int32_t field, rf_multibody_contact **out,
                                                   rf_error *err);
void rf_multibody_contacts_free(rf_multibody_contacts *table);  // its content; zero is fine

#endif
