#include "mesh/nearest.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "linalg/vec3.h"
#include "mesh/local.h"
#include "mesh/topology.h"

static const double EXACT = 1e-14;  // smaller steps in local coordinates are rounding
enum {
  NEWTON_MOST = 40,  // limit; a handful is usual
  HALVINGS = 30,     // limit: steps scaled by 1e-9 make no progress
  LATTICE = 4        // intervals per side of the lattice of start points on a curved face
};

static double clamp(double value, double limit) { return fmax(-limit, fmin(limit, value)); }

// Runs Gauss-Newton over the coordinates not fixed at a face of the cube, from a start nearby.
static double hex_nearest(rf_element_type type, const double x[RF_MAX_NODES][3], const double *p,
                          double xi[3]) {
  rf_local at;
  double r[3];
  for (int k = 0; k < 3; ++k) xi[k] = clamp(xi[k], 1.0);
  rf_local_map(type, x, xi, &at);
  rf_vec3_sub(p, at.place, r);
  double best = rf_vec3_dot(r, r);
  for (int it = 0; it < NEWTON_MOST; ++it) {
    // normal equations; a fixed coordinate keeps a unit row, so its step is zero
    double a[3][3], dual[3][3], b[3], step[3], size = 0.0;
    bool held[3];
    for (int k = 0; k < 3; ++k) {
      b[k] = rf_vec3_dot(at.j[k], r);
      held[k] = (xi[k] >= 1.0 && b[k] > 0.0) || (xi[k] <= -1.0 && b[k] < 0.0);
    }
    for (int k = 0; k < 3; ++k)
      for (int l = 0; l < 3; ++l)
        a[k][l] = held[k] || held[l] ? (k == l ? 1.0 : 0.0) : rf_vec3_dot(at.j[k], at.j[l]);
    if (!rf_local_invert((const double(*)[3])a, dual)) break;
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
      rf_local_map(type, x, trial, &at);
      rf_vec3_sub(p, at.place, q);
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

// ---- faces of tets of ten nodes ------------------------------------------------

// Computes point (3) and derivatives by barycentric coordinates (3, 3) of a quadratic triangle.
static void triangle_map(const double y[6][3], const double l[3], double *place,
                         double derivative[3][3]) {
  static const int EDGE[3][2] = {{0, 1}, {1, 2}, {2, 0}};
  for (int i = 0; i < 3; ++i) {
    place[i] = 0.0;
    for (int a = 0; a < 3; ++a) {
      place[i] += l[a] * (2.0 * l[a] - 1.0) * y[a][i];
      derivative[a][i] = (4.0 * l[a] - 1.0) * y[a][i];
    }
    for (int e = 0; e < 3; ++e) {
      const int a = EDGE[e][0], b = EDGE[e][1];
      place[i] += 4.0 * l[a] * l[b] * y[3 + e][i];
      derivative[a][i] += 4.0 * l[b] * y[3 + e][i];
      derivative[b][i] += 4.0 * l[a] * y[3 + e][i];
    }
  }
}

static double distance2(const double *a, const double *b) {
  double d[3];
  rf_vec3_sub(a, b, d);
  return rf_vec3_dot(d, d);
}

// Finds the nearest of a lattice of points.
static double lattice_start(const double y[6][3], const double *p, double l[3]) {
  double best = INFINITY;
  for (int i = 0; i <= LATTICE; ++i)
    for (int k = 0; k <= LATTICE - i; ++k) {
      const double trial[3] = {1.0 - (double)(i + k) / LATTICE, (double)i / LATTICE,
                               (double)k / LATTICE};
      double place[3], derivative[3][3];
      triangle_map(y, trial, place, derivative);
      const double d = distance2(p, place);
      if (!(d < best)) continue;
      best = d;
      memcpy(l, trial, sizeof trial);
    }
  return best;
}

// Finds the free coordinates; the others stay zero, as steepest descent would make them negative.
static int free_coordinates(const double l[3], const double pull[3], int kept[3]) {
  bool held[3] = {false, false, false};
  for (int round = 0; round < 3; ++round) {
    double mean = 0.0;
    int count = 0;
    for (int a = 0; a < 3; ++a)
      if (!held[a]) mean += pull[a], ++count;
    mean /= count;
    for (int a = 0; a < 3; ++a) held[a] = held[a] || (l[a] <= 0.0 && pull[a] < mean);
  }
  int count = 0;
  for (int a = 0; a < 3; ++a)
    if (!held[a]) kept[count++] = a;
  return count;
}

// Computes the Gauss-Newton step over the free coordinates, which sum to one; zero when none is
// free.
static void triangle_step(const double derivative[3][3], const double *r, int count,
                          const int kept[3], double step[3]) {
  memset(step, 0, 3 * sizeof *step);
  if (count < 2) return;
  double d[2][3], a[2][2] = {{0}}, b[2] = {0};
  for (int k = 0; k + 1 < count; ++k)
    rf_vec3_sub(derivative[kept[k + 1]], derivative[kept[0]], d[k]);
  for (int k = 0; k + 1 < count; ++k) {
    b[k] = rf_vec3_dot(d[k], r);
    for (int m = 0; m + 1 < count; ++m) a[k][m] = rf_vec3_dot(d[k], d[m]);
  }
  double s[2] = {0};
  if (count == 2) {
    if (a[0][0] > 0.0) s[0] = b[0] / a[0][0];
  } else {
    const double det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    if (det > 0.0) {
      s[0] = (a[1][1] * b[0] - a[0][1] * b[1]) / det;
      s[1] = (a[0][0] * b[1] - a[1][0] * b[0]) / det;
    }
  }
  for (int k = 0; k + 1 < count; ++k) {
    step[kept[k + 1]] += s[k];
    step[kept[0]] -= s[k];
  }
}

// Finds the point of a quadratic triangle nearest to p, l barycentric; returns the squared
// distance.
static double quadratic_triangle_nearest(const double y[6][3], const double *p, double l[3]) {
  double best = lattice_start(y, p, l);
  for (int it = 0; it < NEWTON_MOST; ++it) {
    double place[3], derivative[3][3], r[3], pull[3], step[3];
    int kept[3];
    triangle_map(y, l, place, derivative);
    rf_vec3_sub(p, place, r);
    for (int a = 0; a < 3; ++a) pull[a] = rf_vec3_dot(derivative[a], r);
    const int count = free_coordinates(l, pull, kept);
    triangle_step((const double(*)[3])derivative, r, count, kept, step);

    // at most to where a coordinate becomes zero
    double longest = 1.0, size = 0.0;
    int stop = -1;
    for (int a = 0; a < 3; ++a) {
      size = fmax(size, fabs(step[a]));
      if (step[a] < 0.0 && l[a] + longest * step[a] < 0.0) longest = -l[a] / step[a], stop = a;
    }
    if (!(size > EXACT)) break;
    bool nearer = false;
    for (int half = 0; half < HALVINGS && !nearer; ++half, longest *= 0.5) {
      double trial[3];
      for (int a = 0; a < 3; ++a) trial[a] = fmax(l[a] + longest * step[a], 0.0);
      if (half == 0 && stop >= 0) trial[stop] = 0.0;
      triangle_map(y, trial, place, derivative);
      const double d = distance2(p, place);
      nearer = d < best;
      if (!nearer) continue;
      best = d;
      memcpy(l, trial, sizeof trial);
    }
    if (!nearer) break;
  }
  return best;
}

static double tet10_nearest(const double x[RF_MAX_NODES][3], const double *p, double xi[3]) {
  double best = INFINITY;
  for (int f = 0; f < 4; ++f) {
    const uint8_t *node = rf_tet_face(f);
    double y[6][3], l[3];
    for (int a = 0; a < 6; ++a) memcpy(y[a], x[node[a]], sizeof y[a]);
    const double d = quadratic_triangle_nearest((const double(*)[3])y, p, l);
    if (!(d < best)) continue;
    best = d;
    memset(xi, 0, 3 * sizeof *xi);
    for (int a = 0; a < 3; ++a)
      if (node[a] > 0) xi[node[a] - 1] = l[a];
  }
  return sqrt(best);
}

// Starts from the nearest of xi and a lattice of points on the faces.
static double curved_hex_nearest(const double x[RF_MAX_NODES][3], const double *p, double xi[3]) {
  rf_local at;
  double best;
  for (int k = 0; k < 3; ++k) xi[k] = clamp(xi[k], 1.0);
  rf_local_map(RF_HEX20, x, xi, &at);
  best = distance2(p, at.place);
  for (int f = 0; f < 6; ++f)
    for (int i = 0; i < (LATTICE + 1) * (LATTICE + 1); ++i) {
      double trial[3];
      trial[f / 2] = f % 2 ? 1.0 : -1.0;
      trial[(f / 2 + 1) % 3] = 2.0 * (i % (LATTICE + 1)) / LATTICE - 1.0;
      trial[(f / 2 + 2) % 3] = 2.0 * (int)(i / (LATTICE + 1)) / LATTICE - 1.0;
      rf_local_map(RF_HEX20, x, trial, &at);
      const double d = distance2(p, at.place);
      if (!(d < best)) continue;
      best = d;
      memcpy(xi, trial, sizeof trial);
    }
  return hex_nearest(RF_HEX20, x, p, xi);
}

double rf_element_nearest(rf_element_type type, const double x[RF_MAX_NODES][3], const double *p,
                          double xi[3]) {
  if (type == RF_TET10) return tet10_nearest(x, p, xi);
  // with straight edges the map of 20 nodes equals that of the corners
  if (type == RF_HEX8 || rf_local_straight(type, x)) return hex_nearest(RF_HEX8, x, p, xi);
  return curved_hex_nearest(x, p, xi);
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
  // result if distances overflow
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
