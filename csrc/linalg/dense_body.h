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

enum { RF_PANEL = 8 };  // columns of a panel; ld is a multiple of it

// Copies the panel of columns from k on, rows k to n, to p: one row of ld numbers a column.
RF_INLINE void read_panel(int32_t n, const double *a, int32_t ld, int32_t k, double *p) {
  int32_t i = k;
  for (; i + 4 <= n; i += 4)
    for (int half = 0; half < RF_PANEL; half += 4) {
      rf_v4 tile[4];
      for (int r = 0; r < 4; ++r) tile[r] = rf_load4(a + (int64_t)(i + r) * ld + k + half);
      rf_transpose4(tile);
      for (int q = 0; q < 4; ++q) rf_store4(p + (half + q) * ld + i, tile[q]);
    }
  for (int q = 0; q < RF_PANEL; ++q) {
    for (int32_t r = i; r < n; ++r) p[q * ld + r] = a[(int64_t)r * ld + k + q];
    for (int32_t r = n; r < ld; ++r) p[q * ld + r] = 0.0;
  }
}

// Turns column l of a panel into multipliers, and eliminates it from the next `count` columns.
// Numbers above row `begin` may be overwritten.
RF_INLINE void clear_column(const int count, int32_t begin, int32_t end, int32_t ld, double inverse,
                            const double *upper, double *l) {
  rf_v pivot[RF_PANEL];
  for (int q = 0; q < count; ++q) pivot[q] = rf_splat(upper[q]);
  for (int32_t i = begin; i < end; i += RF_WIDTH) {
    const rf_v factor = rf_splat(inverse) * rf_load(l + i);
    rf_store(l + i, factor);
    for (int q = 0; q < count; ++q) {
      double *at = l + (q + 1) * ld + i;
      rf_store(at, rf_load(at) - pivot[q] * factor);
    }
  }
}

// Factors `count` columns of a panel: the multipliers stay in p, the upper factor goes to A, with
// the reciprocals of the pivots on its diagonal.  place: row exchanged with each of the first.
RF_INLINE bool factor_panel(int32_t n, double *a, int32_t ld, int32_t k, int count, double *p,
                            int32_t *place) {
  const int32_t end = RF_FLOOR(n + RF_WIDTH - 1);
  for (int j = 0; j < count; ++j) {
    const int32_t top = k + j, row = place_of_largest(p + j * ld, top, n);
    // the reciprocal of an infinite pivot would hide it
    if (row < 0 || !isfinite(p[j * ld + row])) return false;
    place[j] = row;
    double *upper = a + (int64_t)top * ld + k, *l = p + j * ld;
    for (int q = 0; q < RF_PANEL; ++q) {
      const double pivot = p[q * ld + row];
      p[q * ld + row] = p[q * ld + top];
      p[q * ld + top] = pivot;
      upper[q] = q < j ? 0.0 : pivot;
    }
    const double inverse = 1.0 / upper[j];
    upper[j] = inverse;
    const int32_t begin = RF_FLOOR(top + 1);
    switch (j) {  // so that the number of columns is a constant
      case 0: clear_column(RF_PANEL - 1, begin, end, ld, inverse, upper + 1, l); break;
      case 1: clear_column(RF_PANEL - 2, begin, end, ld, inverse, upper + 2, l); break;
      case 2: clear_column(RF_PANEL - 3, begin, end, ld, inverse, upper + 3, l); break;
      case 3: clear_column(RF_PANEL - 4, begin, end, ld, inverse, upper + 4, l); break;
      case 4: clear_column(RF_PANEL - 5, begin, end, ld, inverse, upper + 5, l); break;
      case 5: clear_column(RF_PANEL - 6, begin, end, ld, inverse, upper + 6, l); break;
      case 6: clear_column(RF_PANEL - 7, begin, end, ld, inverse, upper + 7, l); break;
      default: clear_column(0, begin, end, ld, inverse, upper, l);
    }
  }
  return true;
}

RF_INLINE void exchange_rows(double *a, int32_t ld, int32_t begin, int32_t i, int32_t j) {
  double *x = a + (int64_t)i * ld, *y = a + (int64_t)j * ld;
  for (int32_t c = begin; c < ld; c += RF_WIDTH) {
    const rf_v v = rf_load(x + c);
    rf_store(x + c, rf_load(y + c));
    rf_store(y + c, v);
  }
}

// Subtracts multiples l of each of four rows from those below.
RF_INLINE void finish_four(const double *l, int32_t ld, rf_v u[4]) {
  for (int q = 0; q < 3; ++q)
    for (int j = q + 1; j < 4; ++j) u[j] -= rf_splat(l[q * ld + j]) * u[q];
}

// Completes the rows of the upper factor behind the panel.
RF_INLINE void finish_top(double *a, int32_t ld, int32_t k, const double *p) {
  for (int32_t c = k + RF_PANEL; c < ld; c += RF_WIDTH) {
    double *at = a + (int64_t)k * ld + c;
    const double *l = p + k;
    rf_v u[RF_PANEL];
    for (int j = 0; j < RF_PANEL; ++j) u[j] = rf_load(at + j * ld);
    finish_four(l, ld, u);
    for (int q = 0; q < 4; ++q)
      for (int j = 4; j < RF_PANEL; ++j) u[j] -= rf_splat(l[q * ld + j]) * u[q];
    finish_four(l + 4 * ld + 4, ld, u + 4);
    for (int j = 0; j < RF_PANEL; ++j) rf_store(at + j * ld, u[j]);
  }
}

// Rows, and vectors of each, that subtract_rows holds in registers: eight in all.
#define RF_ROWS RF_WIDTH
#define RF_PARTS (RF_PANEL / RF_WIDTH)

// Subtracts the multiples l (8, ld) of the eight rows `top` from some rows, at the columns of one
// panel.
RF_INLINE void subtract_rows(const int rows, const double *top, const double *l, int32_t ld,
                             double *to) {
  rf_v x[RF_ROWS][RF_PARTS];
  for (int r = 0; r < rows; ++r)
    for (int h = 0; h < RF_PARTS; ++h) x[r][h] = rf_load(to + (int64_t)r * ld + h * RF_WIDTH);
  for (int j = 0; j < RF_PANEL; ++j) {
    rf_v u[RF_PARTS];
    for (int h = 0; h < RF_PARTS; ++h) u[h] = rf_load_once(top + (int64_t)j * ld + h * RF_WIDTH);
    for (int r = 0; r < rows; ++r) {
      const rf_v factor = rf_splat(l[j * ld + r]);
      for (int h = 0; h < RF_PARTS; ++h) x[r][h] -= factor * u[h];
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int h = 0; h < RF_PARTS; ++h) rf_store(to + (int64_t)r * ld + h * RF_WIDTH, x[r][h]);
}

// Solves the upper triangular system, four rows at a time.
RF_INLINE void substitute_back(int32_t n, const double *a, int32_t ld, double *x) {
  for (int32_t i = 0; i < ld; ++i) x[i] = 0.0;
  for (int32_t i = (n - 1) / 4 * 4; i >= 0; i -= 4) {
    const int rows = n - i < 4 ? n - i : 4;
    const double *row = a + (int64_t)i * ld;
    rf_v sum[4] = {{0}};
    for (int32_t c = RF_FLOOR(i); c < n; c += RF_WIDTH) {
      const rf_v v = rf_load(x + c);  // zero where it is not known yet
      for (int r = 0; r < rows; ++r) sum[r] += rf_load(row + r * ld + c) * v;
    }
    const rf_v4 known =
        rf_sums4(rf_fold4(sum[0]), rf_fold4(sum[1]), rf_fold4(sum[2]), rf_fold4(sum[3]));
    for (int r = rows - 1; r >= 0; --r) {
      const double *own = row + r * ld;
      double b = own[n] - known[r];
      for (int q = r + 1; q < rows; ++q) b -= own[i + q] * x[i + q];
      x[i + r] = b * own[i + r];
    }
  }
}

// Right-looking, in panels of columns.  The right side is one of the columns, so that only the
// upper factor is needed afterwards.
bool RF_NAME(rf_dense_eliminate)(int32_t n, double *a, int32_t ld, double *scratch, double *x) {
  for (int32_t k = 0; k < n; k += RF_PANEL) {
    const int count = n - k < RF_PANEL ? n - k : RF_PANEL;
    int32_t place[RF_PANEL];
    read_panel(n, a, ld, k, scratch);
    if (!factor_panel(n, a, ld, k, count, scratch, place)) return false;
    if (k + RF_PANEL > n) break;  // the right side is in the panel
    const double *top = a + (int64_t)k * ld;
    for (int j = 0; j < RF_PANEL; ++j)
      if (place[j] != k + j) exchange_rows(a, ld, k + RF_PANEL, k + j, place[j]);
    finish_top(a, ld, k, scratch);
    for (int32_t c = k + RF_PANEL; c < ld; c += RF_PANEL) {
      int32_t i = k + RF_PANEL;
      for (; i + RF_ROWS <= n; i += RF_ROWS)
        subtract_rows(RF_ROWS, top + c, scratch + i, ld, a + (int64_t)i * ld + c);
      for (; i < n; ++i) subtract_rows(1, top + c, scratch + i, ld, a + (int64_t)i * ld + c);
    }
  }
  substitute_back(n, a, ld, x);
  return true;
}
