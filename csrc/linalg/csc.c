#include "linalg/csc.h"

#include <string.h>

#include "base/alloc.h"

rf_status rf_csc_create(int32_t rows, int32_t cols, int64_t nnz, rf_csc *out, rf_error *err) {
  rf_status st = RF_OK;
  if (!(rows >= 0 && cols >= 0 && nnz >= 0 && nnz <= INT32_MAX))
    return rf_fail(err, RF_ERR_ARG,
                   "sparse matrix of %d x %d with %lld entries is beyond the 32-bit index range",
                   rows, cols, (long long)nnz);
  out->rows = rows;
  out->cols = cols;
  RF_ALLOC(out->colptr, (int64_t)cols + 1);
  RF_ALLOC(out->rowind, nnz);
  RF_ALLOC(out->val, nnz);
done:
  if (st < 0) rf_csc_free(out);
  return st;
}

void rf_csc_free(rf_csc *a) {
  rf_free(a->colptr);
  rf_free(a->rowind);
  rf_free(a->val);
  memset(a, 0, sizeof *a);
}

void rf_csc_symmetric_multiply(const rf_csc *lower, int nrhs, const double *x, double *y) {
  const int32_t n = lower->cols;
  for (int c = 0; c < nrhs; ++c) {
    const double *xc = x + (size_t)c * (size_t)n;
    double *yc = y + (size_t)c * (size_t)n;
    memset(yc, 0, (size_t)n * sizeof *yc);
    for (int32_t j = 0; j < n; ++j) {
      double sum = 0.0;
      const double xj = xc[j];
      for (int32_t p = lower->colptr[j]; p < lower->colptr[j + 1]; ++p) {
        const int32_t i = lower->rowind[p];
        const double a = lower->val[p];
        sum += a * xc[i];
        if (i != j) yc[i] += a * xj;
      }
      yc[j] += sum;
    }
  }
}
