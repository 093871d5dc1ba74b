#include "linalg/deflate.h"

#include "base/alloc.h"
#include "linalg/blas.h"
#include "linalg/tall.h"

rf_status rf_deflate(const rf_run *run, int32_t n, int32_t k, const double *a, const double *b,
                     int32_t count, double *y, rf_error *err) {
  rf_status st = RF_OK;
  double *part = NULL, *scratch = NULL;
  if (k == 0 || count == 0) return RF_OK;
  RF_ALLOC(part, (int64_t)k * count);
  RF_ALLOC(scratch, rf_tall_inner_scratch(n, k, count));
  rf_blas_serial_begin();
  st = rf_tall_inner(run, n, k, b, count, y, scratch, part, err);
  if (st >= 0) st = rf_tall_add(run, n, k, a, count, part, -1.0, 1.0, y, err);
  rf_blas_serial_end();
done:
  rf_free(part);
  rf_free(scratch);
  return st;
}
