#include "contact/local.h"

#include <string.h>

// Adds weight S_ij of two carriers.
static void add_block(const rf_contact_local *l, int32_t i, int32_t j, double weight,
                      double block[9]) {
  const int64_t row = i > j ? i : j, column = i > j ? j : i;
  const float *from = l->entry + 9 * (row * (row + 1) / 2 + column);
  if (i >= j) {
    for (int k = 0; k < 9; ++k) block[k] += weight * (double)from[k];
    return;
  }
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) block[3 * a + b] += weight * (double)from[3 * b + a];
}

void rf_contact_local_between_rt(const rf_contact_local *l, int32_t p, int32_t q, double block[9]) {
  const int32_t *at = l->carrier + (int64_t)p * l->corners;
  const int32_t *to = l->carrier + (int64_t)q * l->corners;
  const double *first = l->weight + (int64_t)p * l->corners;
  const double *second = l->weight + (int64_t)q * l->corners;
  memset(block, 0, 9 * sizeof *block);
  for (int32_t a = 0; a < l->corners; ++a)
    for (int32_t b = 0; first[a] != 0.0 && b < l->corners; ++b)
      if (second[b] != 0.0) add_block(l, at[a], to[b], first[a] * second[b], block);
}
