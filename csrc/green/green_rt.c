// Blocks and columns of Green's functions.
#include "green/green.h"

#include <string.h>

#include "green/column.h"
#include "green/packed.h"

void rf_green_block_rt(const rf_green *g, int32_t i, int32_t j, double block[9]) {
  if (g->packed) {
    rf_green_packed_block_rt(g, i, j, block);
    return;
  }
  const bool stored = i / RF_GREEN_TILE >= j / RF_GREEN_TILE;
  const int64_t at = stored ? rf_green_at(i, j) : rf_green_at(j, i);
  for (int c = 0; c < 3; ++c)
    for (int d = 0; d < 3; ++d) {
      const int64_t from = at + (stored ? 3 * c + d : 3 * d + c);
      block[3 * c + d] =
          g->single ? (double)((const float *)g->entry)[from] : ((const double *)g->entry)[from];
    }
}

void rf_green_between_rt(const rf_green *g, const rf_green_point *p, const rf_green_point *q,
                         double block[9]) {
  memset(block, 0, 9 * sizeof *block);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      const double weight = p->weight[a] * q->weight[b];
      if (weight == 0.0) continue;
      double one[9];
      rf_green_block_rt(g, p->place[a], q->place[b], one);
      for (int c = 0; c < 9; ++c) block[c] += weight * one[c];
    }
}

void rf_green_add_rt(const rf_green *g, int32_t m, const int32_t *place, const double *force,
                     double *u) {
  rf_green_add_lifted_rt(g, 0.0, m, place, force, u);
}

void rf_green_add_lifted_rt(const rf_green *g, double lift, int32_t m, const int32_t *place,
                            const double *force, double *u) {
  const int32_t side = rf_green_rows(g) / RF_GREEN_TILE;
  if (g->packed)
    rf_green_packed_add_rt(g, lift, m, place, force, u);
  else if (g->single)
    RF_GREEN_CALL(g->simd, rf_green_add_single, g->entry, side, m, place, force, u);
  else
    RF_GREEN_CALL(g->simd, rf_green_add_double, g->entry, side, m, place, force, u);
}

void rf_green_load_rt(const rf_green *g, const double *load, double *u) {
  memset(u, 0, 3 * (size_t)rf_green_rows(g) * sizeof *u);
  if (load && g->packed) rf_green_packed_add_rt(g, 0.0, g->count, NULL, load, u);
  for (int32_t i = 0; load && !g->packed && i < g->count; ++i) {
    const double *f = load + 3 * (int64_t)i;
    if (f[0] != 0.0 || f[1] != 0.0 || f[2] != 0.0) rf_green_add_rt(g, 1, &i, f, u);
  }
}
