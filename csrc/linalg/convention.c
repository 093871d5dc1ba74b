#include "linalg/convention.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/blas.h"
#include "linalg/lapack.h"

static size_t at(int32_t n, int32_t column) { return (size_t)n * (size_t)column; }

bool rf_same_cluster(double a, double b) {
  return fabs(a - b) <= RF_CLUSTER_GAP * fmax(fabs(a), fabs(b));
}

int32_t rf_cluster_end(int32_t count, const double *values, int32_t last, int32_t most) {
  const int32_t limit = count - 1 - last < most ? count : last + 1 + most;
  int32_t end = last + 1;
  while (end < limit && rf_same_cluster(values[end - 1], values[end])) ++end;
  return end;
}

typedef struct convention {
  int32_t n, n_weights;
  const double *const *weights;
  double *vectors;
  double *weighted;  // (largest cluster, n)
} convention;

// Rotates vectors [from, to) of one eigenvalue; recursion depth is at most the number of
// weightings.
static rf_status rotate(const convention *c, int32_t level, int32_t from, int32_t to,
                        rf_error *err) {
  rf_status st = RF_OK;
  const int n = c->n, m = to - from;
  if (m < 2 || level == c->n_weights) return RF_OK;
  double *b = NULL, *value = NULL, *work = NULL;
  int *iwork = NULL;
  double *x = c->vectors + at(n, from);
  RF_ALLOC(b, (int64_t)m * m);
  RF_ALLOC(value, m);
  for (int32_t j = 0; j < m; ++j)
    for (int32_t i = 0; i < n; ++i)
      c->weighted[at(n, j) + (size_t)i] = c->weights[level][i] * x[at(n, j) + (size_t)i];
  const double plus = 1.0, zero = 0.0;
  dgemm_("T", "N", &m, &m, &n, &plus, x, &n, c->weighted, &n, &zero, b, &m);

  const int query = -1;
  int lwork = 0, liwork = 0, info = 0;
  double best = 0.0;
  dsyevd_("V", "L", &m, b, &m, value, &best, &query, &liwork, &query, &info);
  RF_TRY(rf_lapack_size("dsyevd", "vectors of one eigenvalue", rf_lapack_least_dsyevd(m), info,
                        best, &lwork, err));
  RF_ALLOC(work, lwork);
  RF_ALLOC(iwork, liwork);
  dsyevd_("V", "L", &m, b, &m, value, work, &lwork, iwork, &liwork, &info);
  if (info != 0) {
    st = rf_fail(err, RF_ERR_INTERNAL, "LAPACK dsyevd failed with code %d", info);
    goto done;
  }
  dgemm_("N", "N", &n, &m, &m, &plus, x, &n, b, &m, &zero, c->weighted, &n);
  memcpy(x, c->weighted, (size_t)n * (size_t)m * sizeof *x);

  // values that coincide in this weighting are separated by the next one
  const double scale = fmax(fabs(value[0]), fabs(value[m - 1]));
  for (int32_t i = 0, j; i < m; i = j) {
    for (j = i + 1; j < m && value[j] - value[j - 1] <= RF_CLUSTER_GAP * scale; ++j) {
    }
    RF_TRY(rotate(c, level + 1, from + i, from + j, err));
  }
done:
  rf_free(b);
  rf_free(value);
  rf_free(work);
  rf_free(iwork);
  return st;
}

static void fix_sign(int32_t n, double *x) {
  double largest = 0.0;
  for (int32_t i = 0; i < n; ++i) largest = fmax(largest, fabs(x[i]));
  int32_t first = 0;
  while (first < n - 1 && fabs(x[first]) < largest * (1.0 - RF_SIGN_TIE)) ++first;
  if (x[first] < 0.0)
    for (int32_t i = 0; i < n; ++i) x[i] = -x[i];
}

rf_status rf_canonical_vectors(int32_t n, int32_t k, const double *values, int32_t n_weights,
                               const double *const *weights, double *vectors, rf_error *err) {
  rf_status st = RF_OK;
  convention c = {.n = n, .n_weights = n_weights, .weights = weights, .vectors = vectors};
  int32_t largest = 1;
  for (int32_t i = 0, j; i < k; i = j) {
    j = rf_cluster_end(k, values, i, k);
    if (j - i > largest) largest = j - i;
  }
  if (largest > 1) RF_ALLOC(c.weighted, (int64_t)largest * n);
  // one BLAS thread: the result must not depend on the thread count of the process
  rf_blas_serial_begin();
  for (int32_t i = 0, j; i < k && st >= 0; i = j) {
    j = rf_cluster_end(k, values, i, k);
    st = rotate(&c, 0, i, j, err);
  }
  rf_blas_serial_end();
  if (st < 0) goto done;
  for (int32_t j = 0; j < k; ++j) fix_sign(n, vectors + at(n, j));
done:
  rf_free(c.weighted);
  return st;
}
