// Rotation of the best fit of points.
#include <math.h>

#include "linalg/pose.h"

enum { SWEEPS = 12 };

static const double ROUNDING = 1e-17;  // entries below this part of the matrix count as zero
static const double UNIQUE = 1e-9;     // gap of the two largest eigenvalues over the larger

// Turns rows and columns p, q of A and the columns of V so that A_pq vanishes (Jacobi).
static void turn_plane(double A[4][4], double V[4][4], int p, int q) {
  if (A[p][q] == 0.0) return;
  const double ratio = (A[q][q] - A[p][p]) / (2.0 * A[p][q]);
  const double t = (ratio < 0.0 ? -1.0 : 1.0) / (fabs(ratio) + hypot(ratio, 1.0));
  const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
  for (int k = 0; k < 4; ++k) {
    const double x = A[k][p], y = A[k][q], v = V[k][p], w = V[k][q];
    A[k][p] = c * x - s * y, A[k][q] = s * x + c * y;
    V[k][p] = c * v - s * w, V[k][q] = s * v + c * w;
  }
  for (int k = 0; k < 4; ++k) {
    const double x = A[p][k], y = A[q][k];
    A[p][k] = c * x - s * y, A[q][k] = s * x + c * y;
  }
}

// True if the entries beside the diagonal are below rounding; false for NaN.
static bool is_diagonal(double A[4][4]) {
  double beside = 0.0, size = 0.0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) *(i == j ? &size : &beside) += A[i][j] * A[i][j];
  return beside <= ROUNDING * ROUNDING * size;
}

// The largest eigenvector of Davenport's matrix.
bool rf_pose_fit_rt(const double B[9], double R[9]) {
  const double trace = B[0] + B[4] + B[8];
  const double z[3] = {B[7] - B[5], B[2] - B[6], B[3] - B[1]};
  double A[4][4], V[4][4] = {{1.0}, {0.0, 1.0}, {0.0, 0.0, 1.0}, {0.0, 0.0, 0.0, 1.0}};
  A[0][0] = trace;
  for (int i = 0; i < 3; ++i) {
    A[0][i + 1] = A[i + 1][0] = z[i];
    for (int j = 0; j < 3; ++j)
      A[i + 1][j + 1] = B[3 * i + j] + B[3 * j + i] - (i == j ? trace : 0.0);
  }
  for (int sweep = 0; sweep < SWEEPS && !is_diagonal(A); ++sweep)
    for (int p = 0; p < 3; ++p)
      for (int q = p + 1; q < 4; ++q) turn_plane(A, V, p, q);
  int best = 0;
  double size = 0.0, second = -INFINITY, q[4];
  for (int k = 0; k < 4; ++k) {
    if (A[k][k] > A[best][best]) best = k;
    size = fmax(size, fabs(A[k][k]));
  }
  for (int k = 0; k < 4; ++k)
    if (k != best) second = fmax(second, A[k][k]);
  if (!(A[best][best] - second > UNIQUE * size)) return false;
  for (int k = 0; k < 4; ++k) q[k] = V[k][best];
  rf_quat_normalize(q, q);
  rf_quat_to_matrix(q, R);
  return true;
}
