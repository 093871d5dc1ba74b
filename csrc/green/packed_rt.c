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

// u (of tile I) += G_IJ f for a force at row `row` of tile J <= I.
static void add_below(const rf_green *g, int32_t I, int32_t J, int32_t row, const double f[3],
                      double *u) {
  const rf_green_packed *p = g->packed;
  const int64_t index = rf_green_packed_index(I, J), at = p->at[index];
  const int32_t m = rf_green_packed_size(p, I), n = rf_green_packed_size(p, J);
  const int32_t rank = p->rank[index];
  for (int d = 0; d < 3 && rank == RF_GREEN_DENSE; ++d)
    spread(g, J, at + (int64_t)(row + d) * m, m, f[d], u);
  for (int64_t q = 0; q < rank; ++q) {
    double sum = 0.0;
    for (int d = 0; d < 3; ++d) sum += entry(g, J, at + (int64_t)rank * m + q * n + row + d) * f[d];
    spread(g, J, at + q * m, m, sum, u);
  }
}

// The same for a tile I < J, of which the block of J and I is stored.
static void add_above(const rf_green *g, int32_t I, int32_t J, int32_t row, const double f[3],
                      double *u) {
  const rf_green_packed *p = g->packed;
  const int64_t index = rf_green_packed_index(J, I), at = p->at[index];
  const int32_t m = rf_green_packed_size(p, J), n = rf_green_packed_size(p, I);
  const int32_t rank = p->rank[index];
  for (int32_t c = 0; c < n && rank == RF_GREEN_DENSE; ++c)
    for (int d = 0; d < 3; ++d) u[c] += entry(g, I, at + (int64_t)c * m + row + d) * f[d];
  for (int64_t q = 0; q < rank; ++q) {
    double sum = 0.0;
    for (int d = 0; d < 3; ++d) sum += entry(g, I, at + q * m + row + d) * f[d];
    spread(g, I, at + (int64_t)rank * m + q * n, n, sum, u);
  }
}

void rf_green_packed_add_rt(const rf_green *g, int32_t m, const int32_t *place, const double *force,
                            double *u) {
  const rf_green_packed *p = g->packed;
  for (int32_t I = 0; I < p->tiles; ++I) {
    double part[3 * RF_GREEN_CLUSTER] = {0};
    for (int32_t k = 0; k < m; ++k) {
      const int32_t j = place[k], J = p->tile[j], row = 3 * (p->slot[j] - p->begin[J]);
      if (I >= J)
        add_below(g, I, J, row, force + 3 * (int64_t)k, part);
      else
        add_above(g, I, J, row, force + 3 * (int64_t)k, part);
    }
    for (int32_t i = p->begin[I]; i < p->begin[I + 1]; ++i)
      for (int c = 0; c < 3; ++c)
        u[3 * (int64_t)p->place[i] + c] += part[3 * (i - p->begin[I]) + c];
  }
}
