// Memory of contacts (contacts.h).  Rows of a contact need not follow each other: a removed row is
// replaced by the last one.
#ifndef RF_GREEN_CONTACTS_STATE_H
#define RF_GREEN_CONTACTS_STATE_H

#include "green/contacts.h"

typedef struct rf_green_held {
  int32_t place, rows;
  int32_t row[3];
  double normal[3];
} rf_green_held;

struct rf_green_contacts {
  const rf_green *g;
  int32_t most, count, n, ld;         // contacts, rows
  double lift;                        // of packed Green's functions (packed.h)
  bool stale;                         // S is lost: C was singular when it was to be renewed
  int32_t released;                   // DOFs, padded
  double *release;                    // (L^-1 Phi^T)^T, S = L L^T    (3 g->count, released)
  rf_green_held *held;                // in the order of addition                     (most)
  int32_t *owner;                     // index in `held` of each row                     (ld)
  double *compliance;                 // C, symmetric, zero beyond n                 (ld, ld)
  double *inverse;                    // S                                           (ld, ld)
  double *coupling;                   // B by columns: four numbers a row             (ld, 4)
  double *x, *scaled;                 // X^T and E X^T, or rows of S                   (4, ld)
  double *target, *force, *residual;  //                                         (ld)
};

// Fills C with a lift, and S from it; false where C is singular.
bool rf_green_contacts_refill(rf_green_contacts *c, double lift);

#endif
