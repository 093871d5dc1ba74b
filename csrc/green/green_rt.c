// Blocks and columns of Green's functions.
#include "green/green.h"

#include <string.h>

#include "green/column.h"
#include "green/packed.h"

enum { CHUNK = 48 };  // columns of A at a time

// The block of two places with entries.
static void stored_block(const rf_green *g, int32_t i, int32_t j, double block[9]) {
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

void rf_green_lifted_block_rt(const rf_green *g, double lift, int32_t i, int32_t j,
                              double block[9]) {
  const int64_t n = g->n_added;
  if (i < g->stored && j < g->stored) {
    const double factor = rf_green_lifted(g, lift, i, j);
    stored_block(g, i, j, block);
    for (int c = 0; c < 9; ++c) block[c] *= factor;
  } else {
    memset(block, 0, 9 * sizeof *block);
  }
  for (int c = 0; c < 9 && n > 0; ++c) {
    const double *a = g->added + (3 * (int64_t)i + c / 3) * n;
    const double *b = g->added + (3 * (int64_t)j + c % 3) * n;
    for (int64_t q = 0; q < n; ++q) block[c] += a[q] * b[q];
  }
}

void rf_green_block_rt(const rf_green *g, int32_t i, int32_t j, double block[9]) {
  rf_green_lifted_block_rt(g, 0.0, i, j, block);
}

void rf_green_spread_compliance_rt(const rf_green *g, int64_t m, const int32_t *place,
                                   const double *share, double compliance[9]) {
  double sum[9] = {0};
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double block[9];
      if (place[i] >= g->stored || place[j] >= g->stored) continue;
      stored_block(g, place[i], place[j], block);
      // the other half is its transpose
      const double part = (i == j ? 0.5 : 1.0) * share[i] * share[j];
      for (int c = 0; c < 9; ++c) sum[c] += part * block[c];
    }
  for (int c = 0; c < 9; ++c) compliance[c] = sum[c] + sum[c % 3 * 3 + c / 3];
  for (int64_t from = 0, n = g->n_added; from < n; from += CHUNK) {
    const int64_t some = from + CHUNK < n ? CHUNK : n - from;
    double mean[3][CHUNK] = {{0}};
    for (int64_t i = 0; i < m; ++i)
      for (int c = 0; c < 3; ++c) {
        const double *row = g->added + (3 * (int64_t)place[i] + c) * n + from;
        for (int64_t q = 0; q < some; ++q) mean[c][q] += share[i] * row[q];
      }
    for (int c = 0; c < 9; ++c)
      for (int64_t q = 0; q < some; ++q) compliance[c] += mean[c / 3][q] * mean[c % 3][q];
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

// u += G f for places with entries.
static void add_stored(const rf_green *g, double lift, int32_t m, const int32_t *place,
                       const double *force, double *u) {
  const int32_t side = (g->stored + RF_GREEN_TILE - 1) / RF_GREEN_TILE;
  if (g->packed)
    rf_green_packed_add_rt(g, lift, m, place, force, u);
  else if (g->single)
    RF_GREEN_CALL(g->simd, rf_green_add_single, g->entry, side, m, place, force, u);
  else
    RF_GREEN_CALL(g->simd, rf_green_add_double, g->entry, side, m, place, force, u);
}

// u += A A^T f; place: NULL for forces at all places.
static void add_released(const rf_green *g, int32_t m, const int32_t *place, const double *force,
                         double *u) {
  const int64_t n = g->n_added;
  for (int64_t from = 0; from < n; from += CHUNK) {
    const int64_t some = from + CHUNK < n ? CHUNK : n - from;
    double motion[CHUNK] = {0};
    for (int32_t k = 0; k < m; ++k)
      for (int c = 0; c < 3; ++c) {
        const double *row = g->added + (3 * (int64_t)(place ? place[k] : k) + c) * n + from;
        for (int64_t q = 0; q < some; ++q) motion[q] += force[3 * (int64_t)k + c] * row[q];
      }
    for (int64_t i = 0; i < 3 * (int64_t)g->count; ++i)
      for (int64_t q = 0; q < some; ++q) u[i] += g->added[i * n + from + q] * motion[q];
  }
}

void rf_green_add_lifted_rt(const rf_green *g, double lift, int32_t m, const int32_t *place,
                            const double *force, double *u) {
  if (!g->n_added) {
    add_stored(g, lift, m, place, force, u);
    return;
  }
  for (int32_t k = 0, end; k < m; k = end + 1) {
    for (end = k; end < m && place[end] < g->stored;) ++end;
    if (end > k) add_stored(g, lift, end - k, place + k, force + 3 * (int64_t)k, u);
  }
  add_released(g, m, place, force, u);
}

void rf_green_load_rt(const rf_green *g, const double *load, double *u) {
  memset(u, 0, 3 * (size_t)rf_green_rows(g) * sizeof *u);
  if (load && g->packed) rf_green_packed_add_rt(g, 0.0, g->stored, NULL, load, u);
  for (int32_t i = 0; load && !g->packed && i < g->stored; ++i) {
    const double *f = load + 3 * (int64_t)i;
    if (f[0] != 0.0 || f[1] != 0.0 || f[2] != 0.0) add_stored(g, 0.0, 1, &i, f, u);
  }
  if (load) add_released(g, g->count, NULL, load, u);
}
