// Unit quaternions (w, x, y, z) as rotations from body to world.
#ifndef RF_LINALG_QUAT_H
#define RF_LINALG_QUAT_H

#include <math.h>

#include "linalg/vec3.h"

// Computes out = a b: rotation b first, then a.
static inline void rf_quat_multiply(const double a[4], const double b[4], double out[4]) {
  const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  const double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  const double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  out[0] = w, out[1] = x, out[2] = y, out[3] = z;
}

// Computes out = q / |q|.
static inline void rf_quat_normalize(const double q[4], double out[4]) {
  const double s = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (int i = 0; i < 4; ++i) out[i] = s * q[i];
}

// Computes the quaternion of the rotation vector v (axis times angle, rad).
static inline void rf_quat_of_rotation(const double v[3], double out[4]) {
  const double half = 0.5 * sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  // series of sin(x)/x near zero: exact to rounding below the threshold
  const double s = half > 1e-4 ? 0.5 * sin(half) / half : 0.5 * (1.0 - half * half / 6.0);
  out[0] = cos(half);
  for (int i = 0; i < 3; ++i) out[i + 1] = s * v[i];
}

// Computes the quaternion of a row-major rotation matrix, from its largest component to avoid
// division by a small number (Shepperd).
static inline void rf_quat_of_matrix(const double r[9], double out[4]) {
  const double trace = r[0] + r[4] + r[8];
  const double square[4] = {trace, r[0], r[4], r[8]};
  int k = 0;
  for (int i = 1; i < 4; ++i)
    if (square[i] > square[k]) k = i;
  // twice the vector part, and the symmetric part
  const double x = r[7] - r[5], y = r[2] - r[6], z = r[3] - r[1];
  const double xy = r[1] + r[3], yz = r[5] + r[7], zx = r[6] + r[2];
  const double own = 1.0 + 2.0 * square[k] - trace;
  const double all[4][4] = {
      {1.0 + trace, x, y, z}, {x, own, xy, zx}, {y, xy, own, yz}, {z, zx, yz, own}};
  rf_quat_normalize(all[k], out);
}

// Computes the rotation vector, at most pi long, of the rotation from `from` to `to`.
static inline void rf_quat_rotation_between(const double from[4], const double to[4], double v[3]) {
  const double back[4] = {from[0], -from[1], -from[2], -from[3]};
  double d[4];
  rf_quat_multiply(to, back, d);
  const double sign = d[0] < 0.0 ? -1.0 : 1.0, sine = rf_vec3_length(d + 1);
  // twice the ratio of angle to sine: 2 near zero
  const double scale = sine > 1e-8 ? 2.0 * atan2(sine, sign * d[0]) / sine : 2.0;
  for (int i = 0; i < 3; ++i) v[i] = sign * scale * d[i + 1];
}

// Computes out = R v, from body to world; out may be v.
static inline void rf_quat_rotate(const double q[4], const double v[3], double out[3]) {
  double t[3], u[3];
  rf_vec3_cross(q + 1, v, t);
  for (int i = 0; i < 3; ++i) t[i] *= 2.0;
  rf_vec3_cross(q + 1, t, u);
  for (int i = 0; i < 3; ++i) out[i] = v[i] + q[0] * t[i] + u[i];
}

// Computes the row-major rotation matrix.
static inline void rf_quat_to_matrix(const double q[4], double R[9]) {
  for (int j = 0; j < 3; ++j) {
    const double unit[3] = {j == 0, j == 1, j == 2};
    double column[3];
    rf_quat_rotate(q, unit, column);
    for (int i = 0; i < 3; ++i) R[3 * i + j] = column[i];
  }
}

// Computes out = R^T v, from world to body; out may be v.
static inline void rf_quat_rotate_back(const double q[4], const double v[3], double out[3]) {
  const double back[4] = {q[0], -q[1], -q[2], -q[3]};
  rf_quat_rotate(back, v, out);
}

#endif
