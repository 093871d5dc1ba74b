#include "mesh/local.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "mesh/reference.h"

// Local coordinates of a point in a hexahedron, in units of half its size
static const double EXACT = 1e-14;         // a smaller step is rounding
static const double CLOSE = 1e-10;         // here Newton's next step is the last
static const double FAR = 2.0;             // iterates stay near: far off the map folds
static const double NEAR = 1.5;            // got stuck so near: other starts are worth a try
static const double TOWARDS_CORNER = 0.7;  // these starts, between centre and corners
enum {
  NEWTON_MOST = 40,  // a handful is usual
  HALVINGS = 30      // a step shorter by 1e-9 leads nowhere
};

// columns of the inverse transpose of J (rows j[k] = dx/dxi_k); false when singular
static bool invert(const double j[3][3], double out[3][3]) {
  const double det = rf_mat3_inverse_transposed(j[0], out[0]);
  return fabs(det) > 0.0 && isfinite(1.0 / det);
}

void rf_tet_weights(const double x[8][3], const double *p, double *w) {
  double edge[3][3], dual[3][3], d[3];
  for (int a = 0; a < 3; ++a) rf_vec3_sub(x[a + 1], x[0], edge[a]);
  rf_vec3_sub(p, x[0], d);
  // a mesh holds no tet without volume; should that change, node 0 carries the point
  w[0] = 1.0;
  for (int a = 0; a < 3; ++a) w[a + 1] = 0.0;
  if (!invert(edge, dual)) return;
  for (int a = 0; a < 3; ++a) {
    w[a + 1] = rf_vec3_dot(dual[a], d);
    w[0] -= w[a + 1];
  }
}

// shape functions n, their local derivatives dn, place and Jacobian rows at xi
static void hex_shape(const double x[8][3], const double *xi, double n[8], double dn[8][3],
                      double place[3], double j[3][3]) {
  rf_hex_shape(xi, n, dn);
  memset(place, 0, 3 * sizeof *place);
  memset(j, 0, 9 * sizeof **j);
  for (int a = 0; a < 8; ++a)
    for (int i = 0; i < 3; ++i) {
      place[i] += n[a] * x[a][i];
      for (int k = 0; k < 3; ++k) j[k][i] += dn[a][k] * x[a][i];
    }
}

static double clamp(double value, double limit) { return fmax(-limit, fmin(limit, value)); }

// Newton with halved steps for x(xi) = p from a given start; false when it gets stuck
static bool hex_newton(const double x[8][3], const double *p, double xi[3]) {
  double n[8], dn[8][3], place[3], j[3][3], dual[3][3];
  double best = INFINITY;
  for (int it = 0; it < NEWTON_MOST; ++it) {
    hex_shape(x, xi, n, dn, place, j);
    double r[3], step[3], size = 0.0;
    rf_vec3_sub(p, place, r);
    best = rf_vec3_dot(r, r);
    if (!invert(j, dual)) return false;
    for (int k = 0; k < 3; ++k) {
      step[k] = rf_vec3_dot(dual[k], r);
      size = fmax(size, fabs(step[k]));
    }
    if (size <= EXACT) return true;

    // a step must bring us nearer; steps near rounding are taken as they are
    bool nearer = false;
    for (int half = 0; half < HALVINGS && !nearer; ++half) {
      double trial[3], q[3];
      for (int k = 0; k < 3; ++k) trial[k] = clamp(xi[k] + step[k], FAR);
      hex_shape(x, trial, n, dn, place, j);
      rf_vec3_sub(p, place, q);
      nearer = rf_vec3_dot(q, q) < best || size < CLOSE;
      for (int k = 0; k < 3; ++k) step[k] *= 0.5;
      if (nearer) memcpy(xi, trial, sizeof trial);
    }
    if (size < CLOSE) return true;
    if (!nearer) return false;
  }
  return false;
}

bool rf_hex_local(const double x[8][3], const double *p, double xi[3]) {
  memset(xi, 0, 3 * sizeof *xi);
  if (hex_newton(x, p, xi)) return true;
  for (int a = 0; a < 8; ++a) {
    if (!(fabs(xi[0]) < NEAR && fabs(xi[1]) < NEAR && fabs(xi[2]) < NEAR)) return false;
    for (int k = 0; k < 3; ++k) xi[k] = TOWARDS_CORNER * RF_HEX_CORNER[a][k];
    if (hex_newton(x, p, xi)) return true;
  }
  return false;
}

double rf_hex_nearest(const double x[8][3], const double *p, double xi[3]) {
  double n[8], dn[8][3], place[3], j[3][3], r[3];
  for (int k = 0; k < 3; ++k) xi[k] = clamp(xi[k], 1.0);
  hex_shape(x, xi, n, dn, place, j);
  rf_vec3_sub(p, place, r);
  double best = rf_vec3_dot(r, r);
  for (int it = 0; it < NEWTON_MOST; ++it) {
    // normal equations; a held coordinate keeps a unit row, so its step is zero
    double a[3][3], dual[3][3], b[3], step[3], size = 0.0;
    bool held[3];
    for (int k = 0; k < 3; ++k) {
      b[k] = rf_vec3_dot(j[k], r);
      held[k] = (xi[k] >= 1.0 && b[k] > 0.0) || (xi[k] <= -1.0 && b[k] < 0.0);
    }
    for (int k = 0; k < 3; ++k)
      for (int l = 0; l < 3; ++l)
        a[k][l] = held[k] || held[l] ? (k == l ? 1.0 : 0.0) : rf_vec3_dot(j[k], j[l]);
    if (!invert((const double(*)[3])a, dual)) break;
    for (int k = 0; k < 3; ++k) {
      step[k] = 0.0;
      for (int l = 0; l < 3; ++l)
        if (!held[l]) step[k] += dual[l][k] * b[l];
      if (held[k]) step[k] = 0.0;
    }

    bool nearer = false;
    for (int half = 0; half < HALVINGS && !nearer; ++half) {
      double trial[3], q[3];
      size = 0.0;
      for (int k = 0; k < 3; ++k) {
        trial[k] = clamp(xi[k] + step[k], 1.0);
        size = fmax(size, fabs(trial[k] - xi[k]));
        step[k] *= 0.5;
      }
      hex_shape(x, trial, n, dn, place, j);
      rf_vec3_sub(p, place, q);
      nearer = rf_vec3_dot(q, q) < best;
      if (!nearer) continue;
      best = rf_vec3_dot(q, q);
      memcpy(xi, trial, sizeof trial);
      memcpy(r, q, sizeof q);
    }
    if (!nearer || size < EXACT) break;
  }
  return sqrt(best);
}

void rf_hex_weights(const double x[8][3], const double *xi, const double *p, double *w) {
  double dn[8][3], place[3], j[3][3], dual[3][3], local[3];
  hex_shape(x, xi, w, dn, place, j);
  if (!invert(j, dual)) return;
  double d[3];
  rf_vec3_sub(p, place, d);
  for (int k = 0; k < 3; ++k) local[k] = rf_vec3_dot(dual[k], d);
  for (int a = 0; a < 8; ++a) w[a] += rf_vec3_dot(dn[a], local);
}

void rf_tet_gradients(const double x[8][3], double gradient[8][3]) {
  double edge[3][3], dual[3][3];
  memset(gradient, 0, 12 * sizeof **gradient);
  for (int a = 0; a < 3; ++a) rf_vec3_sub(x[a + 1], x[0], edge[a]);
  if (!invert(edge, dual)) return;
  for (int a = 0; a < 3; ++a)
    for (int i = 0; i < 3; ++i) {
      gradient[a + 1][i] = dual[a][i];
      gradient[0][i] -= dual[a][i];
    }
}

void rf_hex_gradients(const double x[8][3], const double *xi, double gradient[8][3]) {
  double n[8], dn[8][3], place[3], j[3][3], dual[3][3];
  memset(gradient, 0, 24 * sizeof **gradient);
  hex_shape(x, xi, n, dn, place, j);
  if (!invert(j, dual)) return;
  for (int a = 0; a < 8; ++a)
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) gradient[a][i] += dn[a][k] * dual[k][i];
}

void rf_triangle_nearest(const double t[3][3], const double *p, double *out) {
  double u[3], v[3], d[3];
  rf_vec3_sub(t[1], t[0], u);
  rf_vec3_sub(t[2], t[0], v);
  rf_vec3_sub(p, t[0], d);
  const double uu = rf_vec3_dot(u, u), uv = rf_vec3_dot(u, v), vv = rf_vec3_dot(v, v),
               du = rf_vec3_dot(d, u), dv = rf_vec3_dot(d, v);
  const double det = uu * vv - uv * uv;
  const double a = vv * du - uv * dv, b = uu * dv - uv * du;
  if (det > 0.0 && a >= 0.0 && b >= 0.0 && a + b <= det) {
    for (int i = 0; i < 3; ++i) out[i] = t[0][i] + (a / det) * u[i] + (b / det) * v[i];
    return;
  }
  // stands where distances overflow
  memcpy(out, t[0], sizeof t[0]);
  double best = INFINITY;
  for (int m = 0; m < 3; ++m) {
    const double *from = t[m], *to = t[(m + 1) % 3];
    double e[3], q[3], ee = 0.0, de = 0.0, qq = 0.0;
    for (int i = 0; i < 3; ++i) {
      e[i] = to[i] - from[i];
      ee += e[i] * e[i];
      de += (p[i] - from[i]) * e[i];
    }
    const double s = ee > 0.0 ? fmax(0.0, fmin(1.0, de / ee)) : 0.0;
    for (int i = 0; i < 3; ++i) {
      q[i] = from[i] + s * e[i];
      qq += (p[i] - q[i]) * (p[i] - q[i]);
    }
    if (qq < best) {
      best = qq;
      memcpy(out, q, sizeof q);
    }
  }
}
