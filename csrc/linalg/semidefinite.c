#include "linalg/semidefinite.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "linalg/vector.h"

rf_status rf_semidefinite(int32_t n, double *a, rf_error *err) {
  rf_status st = RF_OK;
  const int size = n, lwork = (int)rf_lapack_least_dsyevd(n), liwork = 3 + 5 * n;
  double *vectors = NULL, *values = NULL, *work = NULL;
  int *integers = NULL, info = 0;
  if (!isfinite(rf_norm((int64_t)n * n, a))) return st;
  RF_ALLOC(vectors, (int64_t)n * n);
  RF_ALLOC(values, n);
  RF_ALLOC(work, lwork);
  RF_ALLOC(integers, liwork);
  memcpy(vectors, a, (size_t)n * (size_t)n * sizeof *a);
  rf_blas_serial_begin();
  dsyevd_("V", "L", &size, vectors, &size, values, work, &lwork, integers, &liwork, &info);
  rf_blas_serial_end();
  if (info != 0) {
    st = rf_fail(err, RF_ERR_NO_CONVERGENCE, "eigenvalues of the stiffness not found");
    goto done;
  }
  for (int32_t k = 0; k < n && values[k] < 0.0; ++k) {
    const double *v = vectors + (int64_t)k * n;
    for (int32_t i = 0; i < n; ++i)
      for (int32_t j = 0; j < n; ++j) a[(int64_t)i * n + j] -= values[k] * (v[i] * v[j]);
  }
done:
  rf_free(vectors);
  rf_free(values);
  rf_free(work);
  rf_free(integers);
  return st;
}
