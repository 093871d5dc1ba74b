// Vectors of three numbers and row-major 3 x 3 matrices.
#ifndef RF_LINALG_VEC3_H
#define RF_LINALG_VEC3_H

#include <math.h>
#include <stdbool.h>

static inline double rf_vec3_dot(const double *a, const double *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double rf_vec3_length(const double *a) { return sqrt(rf_vec3_dot(a, a)); }

// Computes c = a - b.
static inline void rf_vec3_sub(const double *a, const double *b, double *c) {
  for (int i = 0; i < 3; ++i) c[i] = a[i] - b[i];
}

// Shortens v to the length `most`; returns true if it was longer.
static inline bool rf_vec3_limit(double v[3], double most) {
  const double length = rf_vec3_length(v);
  if (!(length > most)) return false;
  for (int i = 0; i < 3; ++i) v[i] *= most / length;
  return true;
}

// Computes the way from the nearest point of a box with sides along the axes to p; NaN stays NaN.
static inline void rf_vec3_beyond(const double *p, const double *low, const double *high,
                                  double *way) {
  for (int i = 0; i < 3; ++i)
    way[i] = p[i] - (p[i] < low[i] ? low[i] : p[i] > high[i] ? high[i] : p[i]);
}

// Computes c = a x b; c must differ from both.
static inline void rf_vec3_cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

// Computes two unit vectors that make a right-handed frame with the unit vector n.
static inline void rf_vec3_tangents(const double *n, double *a, double *b) {
  int least = 0;
  for (int i = 1; i < 3; ++i)
    if (fabs(n[i]) < fabs(n[least])) least = i;
  const double axis[3] = {least == 0, least == 1, least == 2};
  rf_vec3_cross(n, axis, a);
  const double length = rf_vec3_length(a);
  for (int i = 0; i < 3; ++i) a[i] /= length;
  rf_vec3_cross(n, a, b);
}

// Adds a [v]x to m, rows `stride` apart.
static inline void rf_vec3_add_skew(double a, const double v[3], double *m, int stride) {
  m[1] -= a * v[2], m[2] += a * v[1];
  m[stride] += a * v[2], m[stride + 2] -= a * v[0];
  m[2 * stride] -= a * v[1], m[2 * stride + 1] += a * v[0];
}

// Returns the determinant of the rows a, b, c.
static inline double rf_vec3_det(const double *a, const double *b, const double *c) {
  double n[3];
  rf_vec3_cross(b, c, n);
  return rf_vec3_dot(a, n);
}

// Computes out = A B^T; out must differ from both.
static inline void rf_mat3_abt(const double *A, const double *B, double *out) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) out[3 * i + j] = rf_vec3_dot(A + 3 * i, B + 3 * j);
}

// Computes out = A^T B; out must differ from both.
static inline void rf_mat3_atb(const double *A, const double *B, double *out) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      out[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
}

// Computes the inverse transposed of m: row i of m times row k of out is 1 for i = k, else 0.
// Returns the determinant; where it is 0, or so small that 1 / det overflows, out is not an
// inverse.
static inline double rf_mat3_inverse_transposed(const double m[9], double out[9]) {
  rf_vec3_cross(m + 3, m + 6, out);
  rf_vec3_cross(m + 6, m, out + 3);
  rf_vec3_cross(m, m + 3, out + 6);
  const double det = rf_vec3_dot(m, out);
  const double scale = det != 0.0 ? 1.0 / det : 0.0;
  for (int i = 0; i < 9; ++i) out[i] *= scale;
  return det;
}

#endif
