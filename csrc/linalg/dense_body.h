// Body of the vector variants of dense_rt.h.  Needs RF_WIDTH and RF_NAME
// (linalg/simd.h).
#include <math.h>

#include "linalg/dense_rt.h"
#include "linalg/simd_body.h"

// Column c rounded down to a whole vector: rows of U are zero left of the diagonal as far as their
// first vector extends, so work may start there.
#define RF_FLOOR(c) ((c) / RF_WIDTH * RF_WIDTH)

// Right-looking, in panels of four rows: trailing rows are loaded and stored once for four rank-one
// updates.  Root-free: each pivot depends on the previous one by a single division.
bool RF_NAME(rf_dense_cholesky)(int32_t n, double *a, int32_t ld) {
  for (int32_t k = 0; k < n; k += 4) {
    const int32_t panel = n - k < 4 ? n - k : 4;
    double inverse[4];
    for (int32_t p = 0; p < panel; ++p) {
      double *row = a + (k + p) * ld;
      // earlier rows of this panel
      for (int32_t s = 0; s < p; ++s) {
        const double *above = a + (k + s) * ld;
        const rf_v factor = rf_splat(above[k + p] * inverse[s]);
        for (int32_t c = RF_FLOOR(k + p); c < n; c += RF_WIDTH)
          rf_store(row + c, rf_load(row + c) - factor * rf_load(above + c));
      }
      const double pivot = row[k + p];
      if (!(pivot > 0.0)) return false;
      inverse[p] = 1.0 / pivot;
      for (int32_t c = RF_FLOOR(k + p); c < k + p; ++c) row[c] = 0.0;
    }
    if (panel == 4) {
      const double *u0 = a + k * ld, *u1 = u0 + ld, *u2 = u1 + ld, *u3 = u2 + ld;
      for (int32_t i = k + 4; i < n; ++i) {
        double *row = a + i * ld;
        const rf_v f0 = rf_splat(u0[i] * inverse[0]), f1 = rf_splat(u1[i] * inverse[1]);
        const rf_v f2 = rf_splat(u2[i] * inverse[2]), f3 = rf_splat(u3[i] * inverse[3]);
        for (int32_t c = RF_FLOOR(i); c < n; c += RF_WIDTH)
          rf_store(row + c, rf_load(row + c) - (f0 * rf_load(u0 + c) + f1 * rf_load(u1 + c)) -
                                (f2 * rf_load(u2 + c) + f3 * rf_load(u3 + c)));
      }
    }
    for (int32_t p = 0; p < panel; ++p) a[(k + p) * ld + k + p] = inverse[p];
  }
  return true;
}

void RF_NAME(rf_dense_cholesky_solve)(int32_t n, const double *u, int32_t ld, const double *b,
                                      double *x) {
  for (int32_t i = 0; i < n; ++i) x[i] = b[i];
  for (int32_t i = n; i < ld; ++i) x[i] = 0.0;
  // U^T D y = b by columns: the row of each y_i, once known, is subtracted from the rest
  for (int32_t i = 0; i < n; ++i) {
    const double *row = u + i * ld;
    const double y = x[i] * row[i];
    const rf_v yv = rf_splat(y);
    for (int32_t c = RF_FLOOR(i); c < n; c += RF_WIDTH)
      rf_store(x + c, rf_load(x + c) - yv * rf_load(row + c));
    x[i] = y;
  }
  // U x = y by rows, from the last; row i of U is that of the factor divided by its pivot
  for (int32_t i = n - 1; i >= 0; --i) {
    const double *row = u + i * ld;
    const double y = x[i];
    x[i] = 0.0;
    rf_v sum = {0};
    for (int32_t c = RF_FLOOR(i); c < n; c += RF_WIDTH) sum += rf_load(row + c) * rf_load(x + c);
    x[i] = y - rf_sum(sum) * row[i];
  }
}

void RF_NAME(rf_dense_multiply)(int32_t n, const double *a, int32_t ld, const double *x,
                                double *y) {
  for (int32_t i = 0; i < n; i += 4) {
    rf_v sum[4] = {{0}, {0}, {0}, {0}};
    for (int32_t c = 0; c < n; c += RF_WIDTH) {
      const rf_v xv = rf_load(x + c);
      for (int r = 0; r < 4; ++r) sum[r] += rf_load(a + (i + r) * ld + c) * xv;
    }
    rf_store4(y + i,
              rf_sums4(rf_fold4(sum[0]), rf_fold4(sum[1]), rf_fold4(sum[2]), rf_fold4(sum[3])));
  }
  for (int32_t i = n; i < ld; ++i) y[i] = 0.0;
}

void RF_NAME(rf_dense_combine_upper)(int32_t n, double p, const double *a, double q,
                                     const double *b, int32_t ld, double *out) {
  const rf_v pv = rf_splat(p), qv = rf_splat(q);
  for (int32_t i = 0; i < n; ++i)
    for (int32_t c = RF_FLOOR(i); c < n; c += RF_WIDTH)
      rf_store(out + i * ld + c, pv * rf_load(a + i * ld + c) + qv * rf_load(b + i * ld + c));
}

// Keeps four rows of one vector in registers over all of A and B.
void RF_NAME(rf_dense_add_products)(int32_t m, int32_t n, int32_t count, const double *a,
                                    int32_t lda, const double *b, int32_t ld, double *out) {
  for (int32_t i = 0; i < m; i += 4)
    for (int32_t c = 0; c < n; c += RF_WIDTH) {
      double *to = out + i * ld + c;
      rf_v sum[4];
      for (int r = 0; r < 4; ++r) sum[r] = rf_load(to + r * ld);
      for (int32_t k = 0; k < count; ++k) {
        const rf_v row = rf_load_once(b + k * ld + c);
        for (int r = 0; r < 4; ++r) sum[r] += rf_splat(a[k * lda + i + r]) * row;
      }
      for (int r = 0; r < 4; ++r) rf_store(to + r * ld, sum[r]);
    }
}

// Returns the row of the largest entry of a column from row `first` on; -1: all are zero.
RF_INLINE int32_t pivot_row(const double *column, int32_t first, int32_t n) {
  const int32_t whole = RF_FLOOR(first + RF_WIDTH - 1);
  rf_v most = {0};
  double largest = 0.0;
  for (int32_t i = first; i < whole && i < n; ++i)
    largest = fabs(column[i]) > largest ? fabs(column[i]) : largest;
  for (int32_t i = whole; i < n; i += RF_WIDTH) {
    const rf_v x = rf_load(column + i);
    for (int l = 0; l < RF_WIDTH; ++l) most[l] = fabs(x[l]) > most[l] ? fabs(x[l]) : most[l];
  }
  for (int l = 0; l < RF_WIDTH; ++l) largest = most[l] > largest ? most[l] : largest;
  if (!(largest > 0.0)) return -1;
  int32_t row = first;
  while (row < n - 1 && fabs(column[row]) != largest) ++row;
  return row;
}

// y -= factor x from row `first` on.
RF_INLINE void subtract_below(int32_t first, int32_t ld, double factor, const double *x,
                              double *y) {
  const int32_t whole = RF_FLOOR(first + RF_WIDTH - 1);
  const rf_v f = rf_splat(factor);
  for (int32_t i = first; i < whole; ++i) y[i] -= factor * x[i];
  for (int32_t i = whole; i < ld; i += RF_WIDTH) rf_store(y + i, rf_load(y + i) - f * rf_load(x + i));
}

RF_INLINE void swap_rows(double *column, int32_t i, int32_t j) {
  const double x = column[i];
  column[i] = column[j];
  column[j] = x;
}

// Factors the `count` columns from k on, with row exchanges among them.
RF_INLINE bool factor_panel(int32_t n, double *a, int32_t ld, int32_t k, int count,
                            int32_t exchanged[4]) {
  for (int j = 0; j < count; ++j) {
    double *column = a + (int64_t)(k + j) * ld;
    const int32_t row = exchanged[j] = pivot_row(column, k + j, n);
    if (row < 0) return false;
    for (int q = 0; q < count && row != k + j; ++q)
      swap_rows(a + (int64_t)(k + q) * ld, k + j, row);
    const double inverse = 1.0 / column[k + j];
    for (int32_t i = k + j + 1; i < n; ++i) column[i] *= inverse;
    for (int q = j + 1; q < count; ++q) {
      double *other = a + (int64_t)(k + q) * ld;
      subtract_below(k + j + 1, ld, other[k + j], column, other);
    }
  }
  return true;
}

// Eliminates the four rows from k on from some columns; l: the panel's multipliers (4, ld).
RF_INLINE void eliminate_rows(const int columns, double *to, int32_t ld, int32_t k,
                              const int32_t exchanged[4], const double *panel, const double *l) {
  rf_v u[2][4];
  for (int c = 0; c < columns; ++c) {
    double *x = to + (int64_t)c * ld;
    for (int j = 0; j < 4; ++j)
      if (exchanged[j] != k + j) swap_rows(x, k + j, exchanged[j]);
    for (int j = 0; j < 4; ++j) {
      for (int q = 0; q < j; ++q) x[k + j] -= panel[(int64_t)q * ld + k + j] * x[k + q];
      u[c][j] = rf_splat(x[k + j]);
    }
  }
  for (int32_t i = RF_FLOOR(k + 4); i < ld; i += RF_WIDTH) {
    rf_v v[4];
    for (int j = 0; j < 4; ++j) v[j] = rf_load_once(l + (int64_t)j * ld + i);
    for (int c = 0; c < columns; ++c) {
      double *x = to + (int64_t)c * ld + i;
      rf_store(x, rf_load(x) - (u[c][0] * v[0] + u[c][1] * v[1]) -
                      (u[c][2] * v[2] + u[c][3] * v[3]));
    }
  }
}

// Right-looking, in panels of four columns; the right side is one of the columns, so that only the
// upper factor is needed afterwards.
bool RF_NAME(rf_dense_eliminate)(int32_t n, double *a, int32_t ld, double *scratch, double *x) {
  int32_t exchanged[4];
  double *b = a + (int64_t)n * ld;
  for (int32_t k = 0; k < n; k += 4) {
    const int count = n - k < 4 ? n - k : 4;
    const double *panel = a + (int64_t)k * ld;
    if (!factor_panel(n, a, ld, k, count, exchanged)) return false;
    if (count < 4) {  // the last columns: only the right side follows
      for (int j = 0; j < count; ++j) {
        if (exchanged[j] != k + j) swap_rows(b, k + j, exchanged[j]);
      }
      for (int j = 0; j < count; ++j)
        for (int32_t i = k + j + 1; i < n; ++i) b[i] -= panel[(int64_t)j * ld + i] * b[k + j];
      continue;
    }
    // rows of the panel have no multipliers, so that whole vectors can be subtracted
    for (int j = 0; j < 4; ++j) {
      double *l = scratch + (int64_t)j * ld;
      for (int32_t i = RF_FLOOR(k + 4); i < k + 4; ++i) l[i] = 0.0;
      memcpy(l + k + 4, panel + (int64_t)j * ld + k + 4, (size_t)(ld - k - 4) * sizeof *l);
    }
    int32_t c = k + 4;
    for (; c + 2 <= n + 1; c += 2)
      eliminate_rows(2, a + (int64_t)c * ld, ld, k, exchanged, panel, scratch);
    if (c < n + 1) eliminate_rows(1, a + (int64_t)c * ld, ld, k, exchanged, panel, scratch);
  }
  memcpy(x, b, (size_t)ld * sizeof *x);
  for (int32_t j = n - 1; j >= 0; --j) {
    const double *column = a + (int64_t)j * ld;
    const double value = x[j] / column[j];
    const rf_v f = rf_splat(value);
    const int32_t whole = RF_FLOOR(j);
    for (int32_t i = 0; i < whole; i += RF_WIDTH)
      rf_store(x + i, rf_load(x + i) - f * rf_load(column + i));
    for (int32_t i = whole; i < j; ++i) x[i] -= value * column[i];
    x[j] = value;
  }
  return true;
}
