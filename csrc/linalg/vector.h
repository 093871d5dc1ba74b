// Sums over long vectors, in the order of the entries, for identical bits everywhere.
#ifndef RF_LINALG_VECTOR_H
#define RF_LINALG_VECTOR_H

#include <math.h>
#include <stdint.h>

static inline double rf_dot(int64_t n, const double *x, const double *y) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

static inline double rf_norm(int64_t n, const double *x) { return sqrt(rf_dot(n, x, x)); }

// The same of vectors that are padded with zeros to a multiple of 4.  Four partial sums make the
// chain of additions a quarter as long, and other bits.
static inline double rf_dot_padded(int64_t n, const double *x, const double *y) {
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  for (int64_t i = 0; i < n; i += 4) {
    s0 += x[i] * y[i];
    s1 += x[i + 1] * y[i + 1];
    s2 += x[i + 2] * y[i + 2];
    s3 += x[i + 3] * y[i + 3];
  }
  return (s0 + s1) + (s2 + s3);
}

static inline double rf_norm_padded(int64_t n, const double *x) {
  return sqrt(rf_dot_padded(n, x, x));
}

#endif
