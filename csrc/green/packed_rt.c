// Blocks and columns of packed Green's functions.
#include "green/packed.h"

#include <string.h>

#include "green/column.h"

static double entry(const rf_green *g, int32_t strip, int64_t at) {
  const void *all = g->packed->strip[strip];
  return g->single ? (double)((const float *)all)[at] : ((const double *)all)[at];
}

// u (n) += factor times consecutive entries.
static void spread(const rf_green *g, int32_t strip, int64_t at, int32_t n, double factor,
                   double *u) {
  const void *all = g->packed->strip[strip];
  if (g->single)
    RF_GREEN_CALL(g->simd, rf_green_spread_single, (const float *)all + at, n, factor, u);
  else
    RF_GREEN_CALL(g->simd, rf_green_spread_double, (const double *)all + at, n, factor, u);
}

// The entries of a stored block: of rows `row` on and columns `column` on, three each.
static void read_block(const rf_green *g, int32_t I, int32_t J, int32_t row, int32_t column,
                       double block[9]) {
  const rf_green_packed *p = g->packed;
  const int64_t index = rf_green_packed_index(I, J), at = p->at[index];
  const int32_t m = rf_green_packed_size(p, I), n = rf_green_packed_size(p, J);
  const int32_t rank = p->rank[index];
  memset(block, 0, 9 * sizeof *block);
  for (int c = 0; c < 3 && rank == RF_GREEN_DENSE; ++c)
    for (int d = 0; d < 3; ++d)
      block[3 * c + d] = entry(g, J, at + (int64_t)(column + d) * m + row + c);
  for (int64_t q = 0; q < rank; ++q)
    for (int d = 0; d < 3; ++d) {
      const double v = entry(g, J, at + (int64_t)rank * m + q * n + column + d);
      for (int c = 0; c < 3; ++c) block[3 * c + d] += entry(g, J, at + q * m + row + c) * v;
    }
}

void rf_green_packed_block_rt(const rf_green *g, int32_t i, int32_t j, double block[9]) {
  const rf_green_packed *p = g->packed;
  const int32_t I = p->tile[i], J = p->tile[j];
  const int32_t row = 3 * (p->slot[i] - p->begin[I]), column = 3 * (p->slot[j] - p->begin[J]);
  if (I >= J) {
    read_block(g, I, J, row, column, block);
    return;
  }
  double across[9];
  read_block(g, J, I, column, row, across);
  for (int c = 0; c < 9; ++c) block[c] = across[c % 3 * 3 + c / 3];
}

// Forces on the rows `low` to `high` - 1 of a tile.
typedef struct load {
  int32_t low, high;
  double f[3 * RF_GREEN_CLUSTER];
} load;

// u (of tile I) += G_IJ f for forces on tile J <= I.
static void add_below(const rf_green *g, int32_t I, int32_t J, const load *l, double *u) {
  const rf_green_packed *p = g->packed;
  const int64_t index = rf_green_packed_index(I, J), at = p->at[index];
  const int32_t m = rf_green_packed_size(p, I), n = rf_green_packed_size(p, J);
  const int32_t rank = p->rank[index];
  for (int32_t d = l->low; d < l->high && rank == RF_GREEN_DENSE; ++d)
    if (l->f[d] != 0.0) spread(g, J, at + (int64_t)d * m, m, l->f[d], u);
  for (int64_t q = 0; q < rank; ++q) {
    double sum = 0.0;
    for (int32_t d = l->low; d < l->high; ++d)
      sum += entry(g, J, at + (int64_t)rank * m + q * n + d) * l->f[d];
    spread(g, J, at + q * m, m, sum, u);
  }
}

// The same for a tile I < J, of which the block of J and I is stored.
static void add_above(const rf_green *g, int32_t I, int32_t J, const load *l, double *u) {
  const rf_green_packed *p = g->packed;
  const int64_t index = rf_green_packed_index(J, I), at = p->at[index];
  const int32_t m = rf_green_packed_size(p, J), n = rf_green_packed_size(p, I);
  const int32_t rank = p->rank[index];
  for (int32_t c = 0; c < n && rank == RF_GREEN_DENSE; ++c)
    for (int32_t d = l->low; d < l->high; ++d)
      u[c] += entry(g, I, at + (int64_t)c * m + d) * l->f[d];
  for (int64_t q = 0; q < rank; ++q) {
    double sum = 0.0;
    for (int32_t d = l->low; d < l->high; ++d) sum += entry(g, I, at + q * m + d) * l->f[d];
    spread(g, I, at + (int64_t)rank * m + q * n, n, sum, u);
  }
}

// Adds a force at a place of tile J.
static void collect(const rf_green_packed *p, int32_t J, int32_t place, const double f[3],
                    load *l) {
  const int32_t row = 3 * (p->slot[place] - p->begin[J]);
  if (f[0] == 0.0 && f[1] == 0.0 && f[2] == 0.0) return;
  for (int c = 0; c < 3; ++c) l->f[row + c] += f[c];
  if (row < l->low) l->low = row;
  if (row + 3 > l->high) l->high = row + 3;
}

// Each loaded tile is projected once.
void rf_green_packed_add_rt(const rf_green *g, double lift, int32_t m, const int32_t *place,
                            const double *force, double *u) {
  const rf_green_packed *p = g->packed;
  for (int32_t J = 0; J < p->tiles; ++J) {
    load l = {.low = 3 * RF_GREEN_CLUSTER};
    for (int32_t s = p->begin[J]; s < p->begin[J + 1] && !place; ++s)
      collect(p, J, p->place[s], force + 3 * (int64_t)p->place[s], &l);
    for (int32_t k = 0; k < m && place; ++k)
      if (p->tile[place[k]] == J) collect(p, J, place[k], force + 3 * (int64_t)k, &l);
    for (int32_t I = 0; I < p->tiles && l.high > 0; ++I) {
      double part[3 * RF_GREEN_CLUSTER] = {0};
      const double factor = I == J ? 1.0 + lift : 1.0;
      if (I >= J)
        add_below(g, I, J, &l, part);
      else
        add_above(g, I, J, &l, part);
      for (int32_t i = p->begin[I]; i < p->begin[I + 1]; ++i)
        for (int c = 0; c < 3; ++c)
          u[3 * (int64_t)p->place[i] + c] += factor * part[3 * (i - p->begin[I]) + c];
    }
  }
}
