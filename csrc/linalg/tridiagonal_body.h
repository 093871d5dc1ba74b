// Body of the vector variants of tridiagonal.h.  Needs RF_WIDTH and RF_NAME (linalg/simd.h).
//
// Rows are taken from the last one up.  Row k, left of the diagonal, becomes the vector v of a
// reflection 1 - v v^T (v^T v = 2) that leaves its last entry only; the k rows above change by
// v w^T + w v^T.  Their last row is the next v: so rows are changed and multiplied by it at once.
#include <math.h>

#include "linalg/simd_body.h"
#include "linalg/tridiagonal.h"

// Makes v (k, zero beyond to a whole vector) of a row; returns the entry that is left.
RF_INLINE double reflector(int32_t k, double *v) {
  rf_v sum = {0};
  for (int32_t c = 0; c < k; c += RF_WIDTH) sum += rf_load(v + c) * rf_load(v + c);
  const double last = v[k - 1], size = sqrt(rf_sum(sum));
  // a sum of squares that underflows is as good as zero
  if (!(size > 0.0)) return 0.0;
  const double left = last > 0.0 ? -size : size;
  v[k - 1] = last - left;
  const rf_v scale = rf_splat(1.0 / sqrt(size * (size + fabs(last))));
  for (int32_t c = 0; c < k; c += RF_WIDTH) rf_store(v + c, rf_load(v + c) * scale);
  return left;
}

// row -= a w + b v
RF_INLINE void change_row(int32_t k, double a, const double *w, double b, const double *v,
                          double *row) {
  const rf_v av = rf_splat(a), bv = rf_splat(b);
  for (int32_t c = 0; c < k; c += RF_WIDTH)
    rf_store(row + c, rf_load(row + c) - (av * rf_load(w + c) + bv * rf_load(v + c)));
}

// w = p - (p^T v / 2) v
RF_INLINE void finish(int32_t k, const double *v, double *w) {
  rf_v sum = {0};
  for (int32_t c = 0; c < k; c += RF_WIDTH) sum += rf_load(w + c) * rf_load(v + c);
  const rf_v half = rf_splat(0.5 * rf_sum(sum));
  for (int32_t c = 0; c < k; c += RF_WIDTH) rf_store(w + c, rf_load(w + c) - half * rf_load(v + c));
}

void RF_NAME(rf_tridiagonal_reduce)(int32_t n, double *a, int32_t ld, double *diagonal,
                                    double *beside, double *work) {
  double *w = work, *next = work + ld;
  const double *v = NULL;
  for (int32_t k = n - 1; k >= 0; --k) {
    // row k, changed by the last reflection, with its diagonal entry
    double *row = a + (int64_t)k * ld;
    if (v) change_row(k + 1, v[k], w, w[k], v, row);
    diagonal[k] = row[k];
    for (int32_t c = k; c < ld; ++c) row[c] = 0.0;
    if (k == 0) break;
    beside[k - 1] = reflector(k, row);
    for (int32_t c = 0; c < ld; ++c) next[c] = 0.0;
    for (int32_t j = 0; j < k; ++j) {
      double *other = a + (int64_t)j * ld;
      const rf_v factor = rf_splat(row[j]);
      if (!v) {
        for (int32_t c = 0; c < k; c += RF_WIDTH)
          rf_store(next + c, rf_load(next + c) + factor * rf_load(other + c));
        continue;
      }
      const rf_v av = rf_splat(v[j]), bv = rf_splat(w[j]);
      for (int32_t c = 0; c < k; c += RF_WIDTH) {
        const rf_v changed = rf_load(other + c) - (av * rf_load(w + c) + bv * rf_load(v + c));
        rf_store(other + c, changed);
        rf_store(next + c, rf_load(next + c) + factor * changed);
      }
    }
    // beyond k the product has parts of columns that are done
    for (int32_t c = k; c < ld; ++c) next[c] = 0.0;
    finish(k, row, next);
    double *const spare = w;
    w = next;
    next = spare;
    v = row;
  }
}

RF_INLINE void reflect(int32_t k, const double *v, double *x) {
  rf_v sum = {0};
  for (int32_t c = 0; c < k; c += RF_WIDTH) sum += rf_load(x + c) * rf_load(v + c);
  const rf_v along = rf_splat(rf_sum(sum));
  for (int32_t c = 0; c < k; c += RF_WIDTH)
    rf_store(x + c, rf_load(x + c) - along * rf_load(v + c));
}

void RF_NAME(rf_tridiagonal_into)(int32_t n, const double *a, int32_t ld, double *x) {
  for (int32_t k = n - 1; k > 0; --k) reflect(k, a + (int64_t)k * ld, x);
}

void RF_NAME(rf_tridiagonal_back)(int32_t n, const double *a, int32_t ld, double *x) {
  for (int32_t k = 1; k < n; ++k) reflect(k, a + (int64_t)k * ld, x);
}
