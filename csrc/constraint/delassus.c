#include "constraint/delassus.h"

#include "base/alloc.h"
#include "linalg/blas.h"

rf_status rf_delassus_add(const rf_delassus_body *body, int32_t rows, double *w, rf_error *err) {
  const int n = body->coordinates, m = rows;
  const double one = 1.0, zero = 0.0;
  rf_status st = RF_OK;
  double *moved = NULL, *sum = NULL;  // C H^T and H C H^T
  if (n < 1 || m < 1) return RF_OK;
  RF_ALLOC(moved, (int64_t)n * m);
  RF_ALLOC(sum, (int64_t)m * m);
  // by columns as BLAS reads it: H^T (n, m)
  rf_blas_serial_begin();
  dgemm_("N", "N", &n, &m, &n, &one, body->compliance, &n, body->directions, &n, &zero, moved, &n);
  dgemm_("T", "N", &m, &m, &n, &one, body->directions, &n, moved, &n, &zero, sum, &m);
  rf_blas_serial_end();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < m; ++j) w[i * m + j] += 0.5 * (sum[i * m + j] + sum[j * m + i]);
done:
  rf_free(moved);
  rf_free(sum);
  return st;
}
