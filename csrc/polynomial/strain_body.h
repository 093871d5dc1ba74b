// Body of the strain kernels; plain loops that compilers vectorise.  Needs RF_NAME.
#include "polynomial/strain.h"

void RF_NAME(rf_strain_gradients)(int32_t nodes, int32_t r, const double *phi,
                                  const double *const *u, double *restrict g) {
  for (int32_t i = 0; i < 9 * r; ++i) g[i] = 0.0;
  for (int32_t a = 0; a < nodes; ++a)
    for (int32_t c = 0; c < 3; ++c) {
      const double *restrict from = u[a] + c * r;
      const double x = phi[3 * a], y = phi[3 * a + 1], z = phi[3 * a + 2];
      double *restrict gx = g + 3 * c * r, *restrict gy = gx + r, *restrict gz = gy + r;
      for (int32_t i = 0; i < r; ++i) {
        gx[i] += x * from[i];
        gy[i] += y * from[i];
        gz[i] += z * from[i];
      }
    }
}

void RF_NAME(rf_strain_columns)(int32_t r, const rf_strain_factor *f, const double *restrict g,
                                double *restrict column) {
  const int32_t m = r + r * (r + 1) / 2;
  double *restrict xx = column, *restrict yy = xx + m, *restrict zz = yy + m;
  double *restrict yz = zz + m, *restrict zx = yz + m, *restrict xy = zx + m;
  // rows of the gradient: component of displacement, then direction
  const double *restrict gxx = g, *restrict gxy = g + r, *restrict gxz = g + 2 * r;
  const double *restrict gyx = g + 3 * r, *restrict gyy = g + 4 * r, *restrict gyz = g + 5 * r;
  const double *restrict gzx = g + 6 * r, *restrict gzy = g + 7 * r, *restrict gzz = g + 8 * r;

  for (int32_t i = 0; i < r; ++i) {
    xx[i] = gxx[i];
    yy[i] = gyy[i];
    zz[i] = gzz[i];
    yz[i] = 0.5 * (gyz[i] + gzy[i]);
    zx[i] = 0.5 * (gzx[i] + gxz[i]);
    xy[i] = 0.5 * (gxy[i] + gyx[i]);
  }
  int32_t at = r;
  for (int32_t a = 0; a < r; ++a) {
    const double axx = gxx[a], axy = gxy[a], axz = gxz[a];
    const double ayx = gyx[a], ayy = gyy[a], ayz = gyz[a];
    const double azx = gzx[a], azy = gzy[a], azz = gzz[a];
    const int32_t to = at - a;
    for (int32_t b = a; b < r; ++b) {
      xx[to + b] = axx * gxx[b] + ayx * gyx[b] + azx * gzx[b];
      yy[to + b] = axy * gxy[b] + ayy * gyy[b] + azy * gzy[b];
      zz[to + b] = axz * gxz[b] + ayz * gyz[b] + azz * gzz[b];
    }
    for (int32_t b = a; b < r; ++b) {
      yz[to + b] = 0.5 * (axy * gxz[b] + axz * gxy[b] + ayy * gyz[b] + ayz * gyy[b] + azy * gzz[b] +
                          azz * gzy[b]);
      zx[to + b] = 0.5 * (axz * gxx[b] + axx * gxz[b] + ayz * gyx[b] + ayx * gyz[b] + azz * gzx[b] +
                          azx * gzz[b]);
      xy[to + b] = 0.5 * (axx * gxy[b] + axy * gxx[b] + ayx * gyy[b] + ayy * gyx[b] + azx * gzy[b] +
                          azy * gzx[b]);
    }
    for (int32_t k = 0; k < RF_STRAINS; ++k) column[(int64_t)k * m + at] *= 0.5;
    at += r - a;
  }
  if (f->coupled) {
    for (int32_t p = 0; p < m; ++p) {
      const double e[6] = {xx[p], yy[p], zz[p], yz[p], zx[p], xy[p]};
      for (int32_t i = 0; i < RF_STRAINS; ++i) {
        double sum = 0.0;
        for (int32_t k = i; k < RF_STRAINS; ++k) sum += f->l[i][k] * e[k];
        column[(int64_t)i * m + p] = sum;
      }
    }
    return;
  }
  const double l00 = f->l[0][0], l10 = f->l[0][1], l20 = f->l[0][2];
  const double l11 = f->l[1][1], l21 = f->l[1][2], l22 = f->l[2][2];
  const double l33 = f->l[3][3], l44 = f->l[4][4], l55 = f->l[5][5];
  for (int32_t p = 0; p < m; ++p) {
    xx[p] = l00 * xx[p] + l10 * yy[p] + l20 * zz[p];
    yy[p] = l11 * yy[p] + l21 * zz[p];
    zz[p] *= l22;
  }
  for (int32_t p = 0; p < m; ++p) {
    yz[p] *= l33;
    zx[p] *= l44;
    xy[p] *= l55;
  }
}
