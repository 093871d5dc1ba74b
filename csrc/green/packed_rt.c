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

// Forces on a tile: three consecutive rows each.
typedef struct load {
  int32_t n;
  int32_t row[RF_GREEN_CLUSTER];
  const double *force[RF_GREEN_CLUSTER];
} load;

// Returns the product of the forces with entries of all rows, from `at` on.
static double project(const rf_green *g, int32_t strip, int64_t at, const load *l) {
  double sum = 0.0;
  for (int32_t k = 0; k < l->n; ++k)
    for (int d = 0; d < 3; ++d) sum += entry(g, strip, at + l->row[k] + d) * l->force[k][d];
  return sum;
}

// u (of tile I) += G_IJ f for forces on tile J <= I.
static void add_below(const rf_green *g, int32_t I, int32_t J, const load *l, double *u) {
  const rf_green_packed *p = g->packed;
  const int64_t index = rf_green_packed_index(I, J), at = p->at[index];
  const int32_t m = rf_green_packed_size(p, I), n = rf_green_packed_size(p, J);
  const int32_t rank = p->rank[index];
  for (int32_t k = 0; k < l->n && rank == RF_GREEN_DENSE; ++k)
    for (int d = 0; d < 3; ++d)
      spread(g, J, at + (int64_t)(l->row[k] + d) * m, m, l->force[k][d], u);
  for (int64_t q = 0; q < rank; ++q)
    spread(g, J, at + q * m, m, project(g, J, at + (int64_t)rank * m + q * n, l), u);
}

// The same for a tile I < J: only the block of J and I is stored, its transpose.
static void add_above(const rf_green *g, int32_t I, int32_t J, const load *l, double *u) {
  const rf_green_packed *p = g->packed;
  const int64_t index = rf_green_packed_index(J, I), at = p->at[index];
  const int32_t m = rf_green_packed_size(p, J), n = rf_green_packed_size(p, I);
  const int32_t rank = p->rank[index];
  for (int32_t c = 0; c < n && rank == RF_GREEN_DENSE; ++c)
    u[c] += project(g, I, at + (int64_t)c * m, l);
  for (int64_t q = 0; q < rank; ++q)
    spread(g, I, at + (int64_t)rank * m + q * n, n, project(g, I, at + q * m, l), u);
}

// Adds G f for the forces on tile J.
static void add_tile(const rf_green *g, double lift, int32_t J, const load *l, double *u) {
  const rf_green_packed *p = g->packed;
  for (int32_t I = 0; I < p->tiles && l->n > 0; ++I) {
    double part[3 * RF_GREEN_CLUSTER] = {0};
    const double factor = I == J ? 1.0 + lift : 1.0;
    if (I >= J)
      add_below(g, I, J, l, part);
    else
      add_above(g, I, J, l, part);
    for (int32_t i = p->begin[I]; i < p->begin[I + 1]; ++i)
      for (int c = 0; c < 3; ++c)
        u[3 * (int64_t)p->place[i] + c] += factor * part[3 * (i - p->begin[I]) + c];
  }
}

// Each loaded tile is projected once, or once for RF_GREEN_CLUSTER forces if places are repeated.
void rf_green_packed_add_rt(const rf_green *g, double lift, int32_t m, const int32_t *place,
                            const double *force, double *u) {
  const rf_green_packed *p = g->packed;
  for (int32_t J = 0; J < p->tiles; ++J) {
    load l = {0};
    const int32_t first = place ? 0 : p->begin[J], last = place ? m : p->begin[J + 1];
    for (int32_t k = first; k < last; ++k) {
      const int32_t i = place ? place[k] : p->place[k];
      const double *f = force + 3 * (int64_t)(place ? k : i);
      if (p->tile[i] != J || (f[0] == 0.0 && f[1] == 0.0 && f[2] == 0.0)) continue;
      if (l.n == RF_GREEN_CLUSTER) {
        add_tile(g, lift, J, &l, u);
        l.n = 0;
      }
      l.row[l.n] = 3 * (p->slot[i] - p->begin[J]);
      l.force[l.n++] = f;
    }
    add_tile(g, lift, J, &l, u);
  }
}
