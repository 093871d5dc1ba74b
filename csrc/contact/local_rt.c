#include "contact/local.h"

#include <string.h>

// Block of two carriers; turned: the stored one is its transpose.
static const float *block_of(const rf_contact_local *l, int32_t i, int32_t j, bool *turned) {
  const int64_t row = i > j ? i : j, column = i > j ? j : i;
  *turned = i < j;
  return l->entry + 9 * (row * (row + 1) / 2 + column);
}

static void add_block(const rf_contact_local *l, int32_t i, int32_t j, double weight,
                      double block[9]) {
  bool turned;
  const float *from = block_of(l, i, j, &turned);
  if (!turned) {
    for (int k = 0; k < 9; ++k) block[k] += weight * (double)from[k];
    return;
  }
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) block[3 * a + b] += weight * (double)from[3 * b + a];
}

void rf_contact_local_by_carrier_rt(const rf_contact_local *l, int32_t p, int32_t carrier,
                                    double block[9]) {
  const int64_t first = (int64_t)p * l->corners;
  memset(block, 0, 9 * sizeof *block);
  for (int64_t a = first; a < first + l->corners; ++a)
    if (l->weight[a] != 0.0) add_block(l, l->carrier[a], carrier, l->weight[a], block);
}

void rf_contact_local_between_rt(const rf_contact_local *l, int32_t p, int32_t q, double block[9]) {
  const int64_t first = (int64_t)q * l->corners;
  memset(block, 0, 9 * sizeof *block);
  for (int64_t b = first; b < first + l->corners; ++b) {
    double one[9];
    if (l->weight[b] == 0.0) continue;
    rf_contact_local_by_carrier_rt(l, p, l->carrier[b], one);
    for (int k = 0; k < 9; ++k) block[k] += l->weight[b] * one[k];
  }
}

void rf_contact_local_carry_rt(const rf_contact_local *l, int32_t i, int32_t j, const double f[3],
                               double out[3]) {
  bool turned;
  const float *b = block_of(l, i, j, &turned);
  const int across = turned ? 3 : 1, down = turned ? 1 : 3;
  for (int a = 0; a < 3; ++a, b += down)
    out[a] += (double)b[0] * f[0] + (double)b[across] * f[1] + (double)b[2 * across] * f[2];
}

void rf_contact_local_push_rt(const rf_contact_local *l, int32_t p, int32_t q,
                              const double force[3], double out[3]) {
  const int64_t first = (int64_t)p * l->corners, second = (int64_t)q * l->corners;
  for (int64_t a = first; a < first + l->corners; ++a)
    for (int64_t b = second; l->weight[a] != 0.0 && b < second + l->corners; ++b) {
      const double weight = l->weight[a] * l->weight[b];
      const double f[3] = {weight * force[0], weight * force[1], weight * force[2]};
      if (weight != 0.0) rf_contact_local_carry_rt(l, l->carrier[a], l->carrier[b], f, out);
    }
}
