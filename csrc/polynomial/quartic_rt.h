// Kernels of rf_polynomial_evaluate_rt and the order of their stream.
//
// Rectangles of fixed (j, k), j <= k, have j + 1 rows (i) and n - k columns (l),
// n = r + 1.  The longer side lies along the vectors: first, for j ascending, all
// "wide" rectangles (n - k >= j + 1) with vectors along l, k innermost; then, for k
// ascending, all "tall" ones with vectors along i, j innermost.  Vector sides start and
// end on whole vectors and are cut into strips of at most RF_QUARTIC_STRIP; the stream
// holds strip after strip, row after row.
#ifndef RF_POLYNOMIAL_QUARTIC_RT_H
#define RF_POLYNOMIAL_QUARTIC_RT_H

#include <stdint.h>

#include "linalg/simd.h"

enum { RF_QUARTIC_STRIP = 8 };

typedef struct rf_quartic_work {
  int32_t ldh;       // row length of h
  double *q;         // 1, q, zeros            (ldh)
  double *h;         // unsymmetrised Hessian  (n rows of ldh)
  double *r;         // homogeneous gradient   (ldh)
  double *dots;      // row sums of a rectangle, one vector each (n + 3, at most 8 wide)
  double *pair_in;   // scaled products of q^                  (rf_pairs_padded)
  double *pair_out;  // rows of the Hessian's upper triangle   (rf_pairs_padded)
} rf_quartic_work;

static inline int32_t rf_quartic_padded(int32_t count, int32_t width) {
  return (count + width - 1) / width * width;
}
// Returns the first column of the wide rectangles of k, rounded down to whole vectors for
// alignment.
static inline int32_t rf_quartic_wide_begin(int32_t k, int32_t width) { return k / width * width; }

// Returns the number of pairs a <= b < n, padded to whole tiles of the pair matrix.
static inline int32_t rf_pairs_padded(int32_t n, int32_t width) {
  return rf_quartic_padded(n * (n + 1) / 2, width);
}

// Accumulates h (with hessian) or only r over all rectangles; q^ is in work->q.
typedef void rf_quartic_fn(int32_t n, const double *stream, rf_quartic_work *work, int hessian);
RF_SIMD_DECLARE(rf_quartic_fn, rf_quartic);

// Computes y = B x for the pair matrix of m = rf_pairs_padded rows in square tiles as wide as a
// vector: tile row by tile row, the complete diagonal tile, then those right of it.
typedef void rf_pairs_fn(int32_t m, const double *stream, const double *x, double *y);
RF_SIMD_DECLARE(rf_pairs_fn, rf_pairs);

// Replaces h by h + h^T unless it is symmetric already, and r by h q^ / 3; copies the part of h
// that belongs to q to `out` (nullable, n - 1 rows of ld >= n - 1).
typedef void rf_quartic_finish_fn(int32_t n, rf_quartic_work *work, int symmetric, double *out,
                                  int32_t ld);
RF_SIMD_DECLARE(rf_quartic_finish_fn, rf_quartic_finish);

#endif
