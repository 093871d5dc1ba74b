#include "linalg/solve6_rt.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

// Rows of eight are whole vectors: six unknowns, the right-hand side, one padding.
enum { N = 6, RHS = 6, LD = 8, SWEEPS = 16 };

// Relative to the largest singular value; smaller ones may be rounding errors.
static const double ROUNDING = 1e-12;
// Squared cosine of rows that count as perpendicular.
static const double PERPENDICULAR = 1e-26;

// Inverts a by Gauss-Jordan elimination with partial pivoting.  False when singular.
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

// True if -x . A x >= least |x|^2 for all x, by the L D L^T factors of the symmetric part.
static bool resists(const double a[36], double least) {
  double l[N][N];
  for (int i = 0; i < N; ++i)
    for (int j = 0; j <= i; ++j) {
      double sum = -0.5 * (a[N * i + j] + a[N * j + i]) - (i == j ? least : 0.0);
      for (int k = 0; k < j; ++k) sum -= l[i][k] * l[j][k] * l[k][k];
      if (i == j && !(sum > 0.0)) return false;
      l[i][j] = i == j ? sum : sum / l[j][j];
    }
  return true;
}

// Factors (A, b) = Q (R, c) by modified Gram-Schmidt, which keeps c as accurate as R although Q may
// not be orthogonal.  The column with the longest remainder is next, so that rows decrease in size;
// columns of R keep the order of the unknowns.  Overwrites m.
static void orthogonalize(double m[N][LD], double r[N][LD]) {
  double left[LD] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0};  // 0: processed, or not part of A
  for (int k = 0; k < N; ++k) {
    double square[LD] = {0}, row[LD] = {0}, q[N];
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < LD; ++j) square[j] += m[i][j] * m[i][j];
    int next = 0;
    double most = 0.0;
    for (int j = 0; j < N; ++j)
      if (left[j] > 0.0 && square[j] >= most) most = square[next = j];
    const double length = sqrt(most), over = length > 0.0 ? 1.0 / length : 0.0;
    for (int i = 0; i < N; ++i) q[i] = over * m[i][next];
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < LD; ++j) row[j] += q[i] * m[i][j];
    for (int i = 0; i < N; ++i)
      for (int j = 0; j < LD; ++j) m[i][j] -= q[i] * row[j];
    // processed columns hold rounding errors only
    for (int j = 0; j < N; ++j) row[j] *= left[j];
    row[next] = length;
    left[next] = 0.0;
    memcpy(r[k], row, sizeof row);
  }
}

// One-sided Jacobi rotations (Hestenes) from the left: the rows of R become perpendicular, S V^T,
// and c becomes U^T b.  A triangular factor with decreasing rows takes half as many rotations as A
// (Drmac and Veselic 2008); sweeps converge quadratically.
static void rotate(double r[N][LD], double square[N]) {
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    bool turned = false;
    for (int i = 0; i < N; ++i) square[i] = dot(r[i], r[i]);
    for (int p = 0; p < N - 1; ++p)
      for (int q = p + 1; q < N; ++q) {
        const double pq = dot(r[p], r[q]), pp = square[p], qq = square[q];
        if (!(pq * pq > PERPENDICULAR * pp * qq)) continue;
        const double gap = qq - pp, root = sqrt(gap * gap + 4.0 * pq * pq);
        const double t = copysign(2.0, gap) * pq / (fabs(gap) + root);
        const double c = sqrt(0.5 + 0.5 * fabs(gap) / root), s = t * c;
        for (int j = 0; j < LD; ++j) {
          const double keep = r[p][j];
          r[p][j] = c * keep - s * r[q][j];
          r[q][j] = s * keep + c * r[q][j];
        }
        square[p] = pp - t * pq;
        square[q] = qq + t * pq;
        turned = true;
      }
    if (!turned) return;
  }
}

int32_t rf_solve6_rt(const double a[36], const double b[6], double degenerate, double sure,
                     const double otherwise[6], double x[6]) {
  double inverse[36], m[N][LD], r[N][LD], square[N], largest = 0.0;
  memcpy(x, otherwise, N * sizeof *x);
  const double size = norm36(a);
  if (!(isfinite(size) && isfinite(dot(b, b)) && isfinite(dot(otherwise, otherwise)))) return -1;
  if (invert(a, inverse)) {
    const double condition = size * norm36(inverse);
    if (condition * degenerate <= 1.0 || (condition * ROUNDING <= 1.0 && resists(a, sure))) {
      for (int i = 0; i < N; ++i) x[i] = dot(inverse + N * i, b);
      return N;
    }
  }
  if (!(size > 0.0)) return 0;
  // scaled to 1, so that no relevant square underflows
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) m[i][j] = a[N * i + j] / size;
    m[i][RHS] = b[i] / size;
    m[i][RHS + 1] = 0.0;
  }
  orthogonalize(m, r);
  rotate(r, square);
  for (int j = 0; j < N; ++j) largest = fmax(largest, square[j]);
  // for any threshold: no division by an underflowed square
  const double least = fmax(degenerate * degenerate * largest, DBL_MIN);
  int32_t rank = 0;
  for (int j = 0; j < N; ++j) {
    if (!(square[j] >= least)) continue;
    ++rank;
    const double along = (r[j][RHS] - dot(r[j], otherwise)) / square[j];
    for (int i = 0; i < N; ++i) x[i] += along * r[j][i];
  }
  return rank;
}
