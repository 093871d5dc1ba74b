#include "basis/independent.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/run.h"
#include "basis/metric.h"
#include "linalg/blas.h"
#include "linalg/tall.h"
#include "linalg/vector.h"

enum { BLOCK = 32 };  // vectors orthogonalised together against those kept

// Normalises x; returns its previous length.  A vector not longer than `least` becomes zero, and so
// does the returned length.
static double normalise(size_t n, double least, double *x) {
  double largest = 0.0;
  for (size_t i = 0; i < n; ++i) largest = fmax(largest, fabs(x[i]));
  // scale first: squares neither over- nor underflow
  const double unit = largest > 0.0 ? largest : 1.0;
  for (size_t i = 0; i < n; ++i) x[i] /= unit;
  const double length = sqrt(rf_dot((int64_t)n, x, x));
  const bool good = isfinite(length) && length * unit > least;
  for (size_t i = 0; i < n; ++i) x[i] = good ? x[i] / length : 0.0;
  return good ? length * unit : 0.0;
}

// Gram-Schmidt of the block's unit vectors (or zeros) against `kept` orthonormal ones and each
// other; computes the remaining lengths, 0 for those of at most `least`.
static rf_status orthogonalise(const rf_run *run, int32_t n, int32_t kept, const double *basis,
                               int32_t count, double *block, double least, double *scratch,
                               double *inner, double *length, rf_error *err) {
  rf_status st = RF_OK;
  const size_t size = (size_t)n;
  RF_TRY(rf_run_progress(run, -1, -1, err));
  if (kept > 0) {
    RF_TRY(rf_tall_inner(run, n, kept, basis, count, block, scratch, inner, err));
    RF_TRY(rf_tall_add(run, n, kept, basis, count, inner, -1.0, 1.0, block, err));
  }
  for (int32_t j = 0; j < count; ++j) {
    double *vector = block + size * (size_t)j;
    for (int32_t i = 0; i < j; ++i) {
      const double *other = block + size * (size_t)i;
      const double share = rf_dot((int64_t)size, other, vector);
      for (size_t p = 0; p < size; ++p) vector[p] -= share * other[p];
    }
    length[j] = normalise(size, least, vector);
  }
done:
  return st;
}

static rf_status find(const rf_run *run, int32_t n, int32_t count, double *vectors,
                      double tolerance, double *residual, rf_error *err) {
  rf_status st = RF_OK;
  const size_t size = (size_t)n;
  double *scratch = NULL, *inner = NULL, again[BLOCK];
  int32_t kept = 0;
  RF_ALLOC(scratch, rf_tall_inner_scratch(n, count, BLOCK));
  RF_ALLOC(inner, (size_t)count * BLOCK);
  for (int32_t first = 0; first < count; first += BLOCK) {
    const int32_t wide = count - first < BLOCK ? count - first : BLOCK;
    double *block = vectors + size * (size_t)first;
    for (int32_t j = 0; j < wide; ++j) normalise(size, 0.0, block + size * (size_t)j);
    RF_TRY(orthogonalise(run, n, kept, vectors, wide, block, tolerance, scratch, inner,
                         residual + first, err));
    // twice is enough: a short remainder contains relatively large rounding errors
    RF_TRY(orthogonalise(run, n, kept, vectors, wide, block, 0.0, scratch, inner, again, err));
    for (int32_t j = 0; j < wide; ++j) {
      if (!(residual[first + j] > 0.0)) continue;
      memmove(vectors + size * (size_t)kept, block + size * (size_t)j, size * sizeof *vectors);
      ++kept;
    }
    RF_TRY(rf_run_progress(run, first + wide, count, err));
  }
done:
  rf_free(scratch);
  rf_free(inner);
  return st;
}

rf_status rf_basis_independent(const rf_solid *solid, const rf_run *run, int32_t count,
                               const double *vectors, double tolerance, double *residual,
                               rf_error *err) {
  rf_status st = RF_OK;
  rf_metric metric = {0};
  double *copies = NULL;
  if (!(tolerance >= 0.0 && tolerance < 1.0))
    return rf_fail(err, RF_ERR_ARG, "tolerance must be at least 0 and less than 1, got %g",
                   tolerance);
  if (solid->n_free < 1) return rf_fail(err, RF_ERR_MESH, "every node of the solid is fixed");
  RF_TRY(rf_metric_of_solid(solid, run, &metric, err));
  RF_TRY(rf_metric_copies(solid, &metric, run, count, vectors, &copies, err));
  rf_blas_serial_begin();
  st = find(run, 3 * solid->n_free, count, copies, tolerance, residual, err);
  rf_blas_serial_end();
done:
  rf_metric_free(&metric);
  rf_free(copies);
  return st;
}
