#include "linalg/solve6_rt.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { N = 6, SWEEPS = 16 };

// a: an inverse by Gauss-Jordan elimination with partial pivoting.  False when singular.
static bool invert(const double a[36], double out[36]) {
  double m[N][2 * N] = {{0}};
  for (int i = 0; i < N; ++i) {
    memcpy(m[i], a + N * i, N * sizeof *a);
    m[i][N + i] = 1.0;
  }
  for (int k = 0; k < N; ++k) {
    int best = k;
    for (int i = k + 1; i < N; ++i)
      if (fabs(m[i][k]) > fabs(m[best][k])) best = i;
    if (!(fabs(m[best][k]) > 0.0)) return false;
    if (best != k) {
      double keep[2 * N];
      memcpy(keep, m[k], sizeof keep);
      memcpy(m[k], m[best], sizeof keep);
      memcpy(m[best], keep, sizeof keep);
    }
    const double pivot = 1.0 / m[k][k];
    for (int j = 0; j < 2 * N; ++j) m[k][j] *= pivot;
    for (int i = 0; i < N; ++i) {
      if (i == k) continue;
      const double factor = m[i][k];
      for (int j = 0; j < 2 * N; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  for (int i = 0; i < N; ++i) memcpy(out + N * i, m[i] + N, N * sizeof *out);
  return true;
}

static double dot(const double *x, const double *y) {
  double sum = 0.0;
  for (int i = 0; i < N; ++i) sum += x[i] * y[i];
  return sum;
}

static double norm36(const double *a) {
  double sum = 0.0;
  for (int i = 0; i < N * N; ++i) sum += a[i] * a[i];
  return sqrt(sum);
}

static void turn(double c, double s, double *x, double *y) {
  for (int i = 0; i < N; ++i) {
    const double keep = x[i];
    x[i] = c * keep - s * y[i];
    y[i] = s * keep + c * y[i];
  }
}

// Jacobi's rotations from the right (Hestenes): the columns of A V become perpendicular, of
// lengths S.  column[j] and v[j] are columns.  Sweeps converge quadratically; a few are enough.
static void decompose(const double a[36], double column[N][N], double v[N][N]) {
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) {
      column[j][i] = a[N * i + j];
      v[j][i] = i == j;
    }
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    bool turned = false;
    for (int p = 0; p < N - 1; ++p)
      for (int q = p + 1; q < N; ++q) {
        const double pq = dot(column[p], column[q]);
        const double pp = dot(column[p], column[p]), qq = dot(column[q], column[q]);
        if (!(pq * pq > 1e-26 * pp * qq)) continue;
        const double half = 0.5 * (qq - pp) / pq;
        const double t = (half >= 0.0 ? 1.0 : -1.0) / (fabs(half) + sqrt(half * half + 1.0));
        const double c = 1.0 / sqrt(t * t + 1.0);
        turn(c, t * c, column[p], column[q]);
        turn(c, t * c, v[p], v[q]);
        turned = true;
      }
    if (!turned) return;
  }
}

int32_t rf_solve6_rt(const double a[36], const double b[6], double degenerate,
                     const double otherwise[6], double x[6]) {
  double inverse[36], column[N][N], v[N][N], square[N], largest = 0.0;
  memcpy(x, otherwise, N * sizeof *x);
  const double size = norm36(a);
  if (!(isfinite(size) && isfinite(dot(b, b)) && isfinite(dot(otherwise, otherwise)))) return -1;
  if (invert(a, inverse) && size * norm36(inverse) * degenerate <= 1.0) {
    for (int i = 0; i < N; ++i) x[i] = dot(inverse + N * i, b);
    return N;
  }
  if (!(size > 0.0)) return 0;
  // of size 1, so that no square underflows where it matters
  double scaled[36];
  for (int i = 0; i < N * N; ++i) scaled[i] = a[i] / size;
  decompose(scaled, column, v);
  for (int j = 0; j < N; ++j) {
    square[j] = dot(column[j], column[j]);
    largest = fmax(largest, square[j]);
  }
  int32_t rank = 0;
  for (int j = 0; j < N; ++j) {
    if (square[j] < degenerate * degenerate * largest) continue;
    ++rank;
    const double along = dot(column[j], b) / (square[j] * size) - dot(v[j], otherwise);
    for (int i = 0; i < N; ++i) x[i] += along * v[j][i];
  }
  return rank;
}
