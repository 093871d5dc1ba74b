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

void RF_NAME(rf_dense_half_solve)(int32_t n, const double *u, int32_t ld, int32_t ldb, double *b) {
  for (int32_t i = 0; i < n; ++i) {
    double *of = b + i * ldb;
    const double inverse = u[i * ld + i];
    for (int32_t k = i + 1; k < n; ++k) {
      double *row = b + k * ldb;
      const rf_v factor = rf_splat(u[i * ld + k] * inverse);
      for (int32_t c = 0; c < ldb; c += RF_WIDTH)
        rf_store(row + c, rf_load(row + c) - factor * rf_load(of + c));
    }
    const rf_v root = rf_splat(sqrt(inverse));
    for (int32_t c = 0; c < ldb; c += RF_WIDTH) rf_store(of + c, root * rf_load(of + c));
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

// Returns the place of the largest size in x from `first` on, n numbers; -1: all are zero.  Writes
// zeros around these.
RF_INLINE int32_t place_of_largest(double *x, int32_t first, int32_t n) {
  const int32_t begin = RF_FLOOR(first), end = RF_FLOOR(n + RF_WIDTH - 1);
  rf_v most = {0};
  rf_m at = {0}, here;
  for (int32_t i = begin; i < first; ++i) x[i] = 0.0;
  for (int32_t i = n; i < end; ++i) x[i] = 0.0;
  for (int l = 0; l < RF_WIDTH; ++l) here[l] = begin + l;
  for (int32_t i = begin; i < end; i += RF_WIDTH, here += RF_WIDTH) {
    const rf_v size = rf_abs(rf_load(x + i));
    const rf_m larger = (rf_m)(size > most);
    most = (rf_v)((larger & (rf_m)size) | (~larger & (rf_m)most));
    at = (larger & here) | (~larger & at);
  }
  double largest = 0.0;
  int32_t place = -1;
  for (int l = 0; l < RF_WIDTH; ++l)
    if (most[l] > largest) {
      largest = most[l];
      place = (int32_t)at[l];
    }
  return place;
}

RF_INLINE void exchange_rows(double *a, int32_t ld, int32_t begin, int32_t i, int32_t j) {
  double *x = a + (int64_t)i * ld, *y = a + (int64_t)j * ld;
  for (int32_t c = begin; c < ld; c += RF_WIDTH) {
    const rf_v v = rf_load(x + c);
    rf_store(x + c, rf_load(y + c));
    rf_store(y + c, v);
  }
}

// Factors `count` columns from k on, and writes the multipliers of each to l (4, ld).  Only these
// columns change, up to exchanges of whole rows.  column (ld): scratch, a copy of the one at hand.
RF_INLINE bool factor_panel(int32_t n, double *a, int32_t ld, int32_t k, int count, double *l,
                            double *column) {
  for (int32_t i = k; i < n; ++i) column[i] = a[(int64_t)i * ld + k];
  for (int j = 0; j < count; ++j) {
    const int32_t p = k + j, row = place_of_largest(column, p, n);
    if (row < 0) return false;
    if (row != p) {
      exchange_rows(a, ld, RF_FLOOR(k), p, row);
      for (int q = 0; q < j; ++q) {
        const double x = l[q * ld + p];
        l[q * ld + p] = l[q * ld + row];
        l[q * ld + row] = x;
      }
      column[row] = column[p];
    }
    const double inverse = 1.0 / a[(int64_t)p * ld + p];
    const rf_v4 pivot = rf_load4(a + (int64_t)p * ld + k);
    for (int32_t i = p + 1; i < n; ++i) {
      double *at = a + (int64_t)i * ld + k;
      const double factor = column[i] * inverse;
      l[j * ld + i] = factor;
      rf_store4(at, rf_load4(at) - factor * pivot);
      column[i] = at[j + 1];
    }
  }
  return true;
}

// rows at once, limited by the number of registers
#define RF_ROWS (RF_WIDTH == 8 ? 4 : 2)

// Subtracts multiples of the four rows from `top` on from some rows, all from column `begin` on.
RF_INLINE void subtract_rows(const int rows, const double *top, const double *l, int32_t ld,
                             int32_t begin, double *to) {
  rf_v factor[RF_ROWS][4];
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < 4; ++j) factor[r][j] = rf_splat(l[j * ld + r]);
  for (int32_t c = begin; c < ld; c += RF_WIDTH) {
    rf_v u[4];
    for (int j = 0; j < 4; ++j) u[j] = rf_load_once(top + (int64_t)j * ld + c);
    for (int r = 0; r < rows; ++r) {
      double *x = to + (int64_t)r * ld + c;
      rf_v v = rf_load(x);
      for (int j = 0; j < 4; ++j) v -= factor[r][j] * u[j];
      rf_store(x, v);
    }
  }
}

// Completes `count` rows of the upper factor behind the panel; their own columns are kept.
RF_INLINE void finish_top(double *a, int32_t ld, int32_t k, int count, const double *l,
                          int32_t begin) {
  for (int j = 1; j < count; ++j) {
    double *row = a + (int64_t)(k + j) * ld;
    const rf_v4 own = rf_load4(row + k);
    for (int q = 0; q < j; ++q) {
      const double *above = a + (int64_t)(k + q) * ld;
      const rf_v factor = rf_splat(l[q * ld + k + j]);
      for (int32_t c = begin; c < ld; c += RF_WIDTH)
        rf_store(row + c, rf_load(row + c) - factor * rf_load(above + c));
    }
    rf_store4(row + k, own);
  }
}

// Right-looking, in panels of four columns.  The right side is one of the columns, so that only the
// upper factor is needed afterwards.
bool RF_NAME(rf_dense_eliminate)(int32_t n, double *a, int32_t ld, double *scratch, double *x) {
  double *l = scratch, *column = scratch + 4 * ld;
  for (int32_t k = 0; k < n; k += 4) {
    const int count = n - k < 4 ? n - k : 4;
    const double *top = a + (int64_t)k * ld;
    const int32_t begin = RF_FLOOR(k + count);
    if (!factor_panel(n, a, ld, k, count, l, column)) return false;
    finish_top(a, ld, k, count, l, begin);
    int32_t i = k + 4;
    for (; i + RF_ROWS <= n; i += RF_ROWS)
      subtract_rows(RF_ROWS, top, l + i, ld, begin, a + (int64_t)i * ld);
    for (; i < n; ++i) subtract_rows(1, top, l + i, ld, begin, a + (int64_t)i * ld);
  }
  for (int32_t i = 0; i < ld; ++i) x[i] = 0.0;
  for (int32_t i = n - 1; i >= 0; --i) {
    const double *row = a + (int64_t)i * ld;
    rf_v sum = {0};
    for (int32_t c = RF_FLOOR(i); c < n; c += RF_WIDTH) sum += rf_load(row + c) * rf_load(x + c);
    x[i] = (row[n] - rf_sum(sum)) / row[i];
  }
  return true;
}
