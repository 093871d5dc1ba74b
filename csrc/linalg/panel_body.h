// Body of the vector variants of panel_rt.h.  Needs RF_WIDTH and RF_NAME (linalg/simd.h).
#include "linalg/panel_rt.h"
#include "linalg/simd_body.h"

enum {
  VECTORS = RF_PANEL_WIDTH / RF_WIDTH,  // vectors per row
  STRIP = RF_WIDTH,                     // columns at once, limited by the number of registers
  ROWS = 64                             // rows that stay in the first-level cache over all blocks
};

typedef struct row {
  rf_v v[VECTORS];
} row;

RF_INLINE row load_row(const double *x) {
  row r;
  for (int v = 0; v < VECTORS; ++v) r.v[v] = rf_load_once(x + v * RF_WIDTH);
  return r;
}
RF_INLINE void store_row(double *x, row r) {
  for (int v = 0; v < VECTORS; ++v) rf_store(x + v * RF_WIDTH, r.v[v]);
}
RF_INLINE row less(row r, double factor, row x) {
  for (int v = 0; v < VECTORS; ++v) r.v[v] -= rf_splat(factor) * x.v[v];
  return r;
}

// Computes y -= L x for `columns` columns that stay in registers.
RF_INLINE void subtract_strip(int columns, int32_t rows, const double *l, int64_t ld,
                              const double *x, double *y) {
  row factor[STRIP];
  for (int q = 0; q < columns; ++q) factor[q] = load_row(x + q * RF_PANEL_WIDTH);
  for (int32_t r = 0; r < rows; ++r) {
    row sum = load_row(y + r * RF_PANEL_WIDTH);
    for (int q = 0; q < columns; ++q) sum = less(sum, l[q * ld + r], factor[q]);
    store_row(y + r * RF_PANEL_WIDTH, sum);
  }
}

// Computes x -= L^T y for `columns` columns; their sums stay in registers.
RF_INLINE void gather_strip(int columns, int32_t rows, const double *l, int64_t ld, const double *y,
                            double *x) {
  row sum[STRIP];
  for (int q = 0; q < columns; ++q) sum[q] = load_row(x + q * RF_PANEL_WIDTH);
  for (int32_t r = 0; r < rows; ++r) {
    const row factor = load_row(y + r * RF_PANEL_WIDTH);
    for (int q = 0; q < columns; ++q) sum[q] = less(sum[q], l[q * ld + r], factor);
  }
  for (int q = 0; q < columns; ++q) store_row(x + q * RF_PANEL_WIDTH, sum[q]);
}

void RF_NAME(rf_panel_subtract)(int32_t rows, int32_t n, const double *l, int64_t ld,
                                int32_t blocks, int64_t stride, const double *from, double *to) {
  for (int32_t r = 0; r < rows; r += ROWS) {
    const int32_t some = rows - r < ROWS ? rows - r : ROWS;
    for (int32_t b = 0; b < blocks; ++b) {
      const double *x = from + b * stride, *tile = l + r;
      double *y = to + b * stride + (int64_t)r * RF_PANEL_WIDTH;
      int32_t c = 0;
      for (; c + STRIP <= n; c += STRIP)
        subtract_strip(STRIP, some, tile + c * ld, ld, x + c * RF_PANEL_WIDTH, y);
      for (; c < n; ++c) subtract_strip(1, some, tile + c * ld, ld, x + c * RF_PANEL_WIDTH, y);
    }
  }
}

void RF_NAME(rf_panel_subtract_transposed)(int32_t rows, int32_t n, const double *l, int64_t ld,
                                           int32_t blocks, int64_t stride, const double *from,
                                           double *to) {
  for (int32_t r = 0; r < rows; r += ROWS) {
    const int32_t some = rows - r < ROWS ? rows - r : ROWS;
    for (int32_t b = 0; b < blocks; ++b) {
      const double *y = from + b * stride + (int64_t)r * RF_PANEL_WIDTH, *tile = l + r;
      double *x = to + b * stride;
      int32_t c = 0;
      for (; c + STRIP <= n; c += STRIP)
        gather_strip(STRIP, some, tile + c * ld, ld, y, x + c * RF_PANEL_WIDTH);
      for (; c < n; ++c) gather_strip(1, some, tile + c * ld, ld, y, x + c * RF_PANEL_WIDTH);
    }
  }
}

RF_INLINE void divide(double *x, double pivot) {
  const double inverse = 1.0 / pivot;
  row r = load_row(x);
  for (int v = 0; v < VECTORS; ++v) r.v[v] *= rf_splat(inverse);
  store_row(x, r);
}

void RF_NAME(rf_panel_solve)(int32_t n, const double *l, int64_t ld, int32_t blocks, int64_t stride,
                             double *x) {
  for (int32_t b = 0; b < blocks; ++b)
    for (int32_t c = 0; c < n; ++c) {
      double *at = x + b * stride + c * RF_PANEL_WIDTH;
      divide(at, l[c * ld + c]);
      subtract_strip(1, n - c - 1, l + c * ld + c + 1, ld, at, at + RF_PANEL_WIDTH);
    }
}

void RF_NAME(rf_panel_solve_transposed)(int32_t n, const double *l, int64_t ld, int32_t blocks,
                                        int64_t stride, double *x) {
  for (int32_t b = 0; b < blocks; ++b)
    for (int32_t c = n - 1; c >= 0; --c) {
      double *at = x + b * stride + c * RF_PANEL_WIDTH;
      gather_strip(1, n - c - 1, l + c * ld + c + 1, ld, at + RF_PANEL_WIDTH, at);
      divide(at, l[c * ld + c]);
    }
}
