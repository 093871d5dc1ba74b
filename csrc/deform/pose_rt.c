// Proxies at some q: their places, and the maps that pull places back.
#include <math.h>
#include <string.h>

#include "deform/field.h"
#include "deform/nearest.h"
#include "linalg/vec3.h"

// Eigenvectors of a symmetric matrix a as columns of v, by Jacobi's rotations; a becomes diagonal.
static void diagonalize(double a[3][3], double v[3][3]) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) v[i][j] = i == j;
  // each sweep at least squares the off-diagonal entries: six sweeps suffice for any matrix
  for (int step = 0; step < 18; ++step) {
    const int p = step % 3 == 2, q = step % 3 == 0 ? 1 : 2, r = 3 - p - q;
    if (a[p][q] == 0.0) continue;
    const double half = 0.5 * (a[q][q] - a[p][p]) / a[p][q];
    const double t = (half >= 0.0 ? 1.0 : -1.0) / (fabs(half) + sqrt(half * half + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    const double apq = a[p][q];
    a[p][p] -= t * apq;
    a[q][q] += t * apq;
    a[p][q] = a[q][p] = 0.0;
    const double arp = a[r][p], arq = a[r][q];
    a[r][p] = a[p][r] = c * arp - s * arq;
    a[r][q] = a[q][r] = s * arp + c * arq;
    for (int i = 0; i < 3; ++i) {
      const double vp = v[i][p], vq = v[i][q];
      v[i][p] = c * vp - s * vq;
      v[i][q] = s * vp + c * vq;
    }
  }
}

// Normalizes the part of x normal to the first `count` unit vectors u; any unit vector normal to
// them where that part vanishes.
static void complete(int count, const double u[3][3], const double *x, double *out) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    double left[3];
    for (int i = 0; i < 3; ++i) left[i] = attempt == 0 ? x[i] : attempt == i + 1;
    const double before = rf_vec3_length(left);
    for (int k = 0; k < count; ++k) {
      const double along = rf_vec3_dot(left, u[k]);
      for (int i = 0; i < 3; ++i) left[i] -= along * u[k][i];
    }
    const double length = rf_vec3_length(left);
    // at least one of the three axes is within 55 degrees of the plane
    if (!(length > (attempt == 0 ? 1e-9 * before : 0.5))) continue;
    for (int i = 0; i < 3; ++i) out[i] = left[i] / length;
    return;
  }
  for (int i = 0; i < 3; ++i) out[i] = i == 0;
}

// Inverts F = sum_i s_i u_i v_i^T, U and V rotations, after raising the s_i; returns true where one
// was raised.
static bool invert_raised(const double f[9], double out[9]) {
  double a[3][3], v[3][3], scale = 0.0;
  bool raised = false;
  for (int i = 0; i < 9; ++i) scale = fmax(scale, fabs(f[i]));
  if (!(scale > 0.0)) scale = 1.0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      a[i][j] = 0.0;
      for (int k = 0; k < 3; ++k) a[i][j] += f[3 * k + i] / scale * (f[3 * k + j] / scale);
    }
  diagonalize(a, v);

  // right and left singular vectors, the largest value first
  int order[3] = {0, 1, 2};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2 - i; ++j)
      if (a[order[j]][order[j]] < a[order[j + 1]][order[j + 1]]) {
        const int keep = order[j];
        order[j] = order[j + 1];
        order[j + 1] = keep;
      }
  double before[3][3], after[3][3], image[3];
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < 3; ++i) before[k][i] = v[i][order[k]];
    for (int i = 0; i < 3; ++i) image[i] = rf_vec3_dot(f + 3 * i, before[k]);
    // an image within rounding of zero has no direction
    const int none = !(rf_vec3_length(image) > 1e-14 * scale);
    complete(k, (const double(*)[3])after, none ? before[k] : image, after[k]);
  }
  // the third vectors complete rotations: their singular value carries the sign
  rf_vec3_cross(before[0], before[1], before[2]);
  rf_vec3_cross(after[0], after[1], after[2]);
  for (int i = 0; i < 9; ++i) out[i] = 0.0;
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < 3; ++i) image[i] = rf_vec3_dot(f + 3 * i, before[k]);
    const double value = rf_vec3_dot(image, after[k]);
    const double s = fmax(value, RF_DEFORMED_FLATTEST);
    raised |= value < RF_DEFORMED_FLATTEST;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) out[3 * i + j] += before[k][i] * after[k][j] / s;
  }
  return raised;
}

// Writes the map of a proxy, number p of four, whose F is flat or inverted; returns true where a
// singular value was raised.
static bool raise_map(const rf_deformed_four *four, int p, const double rest[3], double map[16]) {
  double f[9], inverse[9], moved[3];
  for (int c = 0; c < 3; ++c) moved[c] = four->moved[c][p];
  for (int k = 0; k < 9; ++k) f[k] = four->moved[3 + k][p];
  const bool raised = invert_raised(f, inverse);
  for (int c = 0; c < 3; ++c) {
    for (int b = 0; b < 3; ++b) map[4 * b + c] = inverse[3 * c + b];
    map[12 + c] = rest[c] - rf_vec3_dot(inverse + 3 * c, moved);
  }
  return raised;
}

bool rf_deformed_pose_update_rt(const rf_deformed_field *f, const double *q,
                                rf_deformed_pose *pose) {
  rf_deformed_four four;
  pose->usable = false;
  pose->flat = 0;
  for (int32_t d = 0; d < f->n_domains; ++d)
    for (int32_t i = f->first[d]; i < f->first[d + 1]; i += 4) {
      const int32_t n = f->first[d + 1] - i < 4 ? f->first[d + 1] - i : 4;
      const double *rest = f->rest + 3 * (size_t)i;
      const double *modes = f->modes + 12 * (size_t)i * (size_t)f->r;
      double *map = pose->map + 16 * (size_t)i;
      double *place = pose->place + f->slot[d] + i - f->first[d];
      RF_DEFORMED_CALL(rf_deformed_move, f->simd, n, f->r, modes, rest, q, &four);
      if (!four.finite) return false;
      memcpy(map, four.map, 16 * (size_t)n * sizeof *map);
      for (int32_t p = 0; p < n; ++p) {
        if (four.flat[p]) pose->flat += raise_map(&four, p, rest + 3 * p, map + 16 * p);
        for (int c = 0; c < 3; ++c) place[c * f->n_slots + p] = four.moved[c][p];
      }
    }
  pose->usable = true;
  return true;
}
