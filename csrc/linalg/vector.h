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

#endif
