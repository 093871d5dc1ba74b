#include "mesh/face_point.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"

static const double DONE = 1e-9;   // last step of local coordinates
static const double FAR = 4.0;     // local coordinates of points that are not on the face
static const double FLAT = 1e-12;  // squared sine of the angle between sides of degenerate faces

enum {
  MOST_PARTS = 8,  // of an edge: places that are fractions of it are rounded to them
  NEWTON_STEPS = 12
};

static void set_weights(int32_t nodes, double x, double y, double w[RF_MOST_FACE_NODES]) {
  if (nodes == 3 || nodes == 6) {
    const double L[3] = {1.0 - x - y, x, y};
    for (int a = 0; a < 3; ++a) w[a] = nodes == 3 ? L[a] : L[a] * (2.0 * L[a] - 1.0);
    for (int a = 0; a < 3 && nodes == 6; ++a) w[3 + a] = 4.0 * L[a] * L[(a + 1) % 3];
    return;
  }
  static const double AT[8][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1},
                                  {0, -1},  {1, 0},  {0, 1}, {-1, 0}};
  for (int a = 0; a < 4; ++a) {
    const double s = x * AT[a][0], t = y * AT[a][1];
    w[a] = 0.25 * (1.0 + s) * (1.0 + t) * (nodes == 4 ? 1.0 : s + t - 1.0);
  }
  for (int a = 4; a < 8 && nodes == 8; ++a) {
    const double s = x * AT[a][0], t = y * AT[a][1];
    w[a] = 0.5 * (AT[a][0] == 0.0 ? (1.0 - x * x) * (1.0 + t) : (1.0 + s) * (1.0 - y * y));
  }
}

static bool is_triangle(int32_t nodes) { return nodes == 3 || nodes == 6; }

// Computes the point of a face at local coordinates.
static void point_at(int32_t nodes, const double x[][3], const double at[2], double out[3]) {
  double w[RF_MOST_FACE_NODES];
  set_weights(nodes, at[0], at[1], w);
  for (int i = 0; i < 3; ++i) {
    out[i] = 0.0;
    for (int a = 0; a < nodes; ++a) out[i] += w[a] * x[a][i];
  }
}

// Moves the local coordinates to the point of a face nearest to p, by Gauss and Newton; returns the
// step, infinite if the face is degenerate or p far from it.
static double approach(int32_t nodes, const double x[][3], const double *p, double at[2]) {
  double here[3], off[3], way[2][3], right[2];
  point_at(nodes, x, at, here);
  rf_vec3_sub(p, here, off);
  for (int k = 0; k < 2; ++k) {
    // shape functions are at most quadratic in each coordinate: differences are exact
    double before[2] = {at[0], at[1]}, after[2] = {at[0], at[1]}, low[3], high[3];
    before[k] -= 0.5;
    after[k] += 0.5;
    point_at(nodes, x, before, low);
    point_at(nodes, x, after, high);
    rf_vec3_sub(high, low, way[k]);
    right[k] = rf_vec3_dot(way[k], off);
  }
  const double a = rf_vec3_dot(way[0], way[0]), b = rf_vec3_dot(way[0], way[1]);
  const double c = rf_vec3_dot(way[1], way[1]), det = a * c - b * b;
  if (!(det > FLAT * a * c)) return INFINITY;
  const double step[2] = {(c * right[0] - b * right[1]) / det, (a * right[1] - b * right[0]) / det};
  for (int k = 0; k < 2; ++k) at[k] += step[k];
  return fabs(at[0]) < FAR && fabs(at[1]) < FAR ? fmax(fabs(step[0]), fabs(step[1])) : INFINITY;
}

// Rounds a coordinate from 0 to 1 to a near fraction.
static double to_fraction(double t) {
  for (int parts = 1; parts <= MOST_PARTS; ++parts)
    if (fabs(t * parts - round(t * parts)) <= RF_FACE_NEAR * parts) return round(t * parts) / parts;
  return t;
}

// Finds the point of a face nearest to p, from its middle.
static bool find_foot(int32_t nodes, const double x[][3], const double *p, double at[2]) {
  double step = INFINITY;
  at[0] = at[1] = is_triangle(nodes) ? 1.0 / 3.0 : 0.0;
  for (int k = 0; k < NEWTON_STEPS && step > DONE; ++k)
    if (!isfinite(step = approach(nodes, x, p, at))) return false;
  return true;
}

bool rf_face_weights(int32_t nodes, const double x[][3], const double *p, double reach,
                     double w[RF_MOST_FACE_NODES]) {
  const bool triangle = is_triangle(nodes);
  double at[2], here[3], off[3];
  if (!find_foot(nodes, x, p, at)) return false;
  if (triangle) {
    double L[3] = {1.0 - at[0] - at[1], at[0], at[1]};
    // the smallest of the three coordinates is the rest, if it is zero the point is on an edge
    int least = 0;
    for (int a = 1; a < 3; ++a) least = L[a] < L[least] ? a : least;
    if (fabs(L[least]) <= RF_FACE_NEAR) {
      L[least] = 0.0;
      L[(least + 1) % 3] = to_fraction(L[(least + 1) % 3]);
      L[(least + 2) % 3] = 1.0 - L[(least + 1) % 3];
    } else {
      L[1] = to_fraction(L[1]);
      L[2] = to_fraction(L[2]);
      L[0] = 1.0 - L[1] - L[2];
    }
    if (fmin(fmin(L[0], L[1]), L[2]) < 0.0 || fmax(fmax(L[0], L[1]), L[2]) == 1.0) return false;
    at[0] = L[1];
    at[1] = L[2];
  } else {
    for (int k = 0; k < 2; ++k) at[k] = 2.0 * to_fraction(0.5 * (at[k] + 1.0)) - 1.0;
    if (fabs(at[0]) > 1.0 || fabs(at[1]) > 1.0 || (fabs(at[0]) == 1.0 && fabs(at[1]) == 1.0))
      return false;
  }
  point_at(nodes, x, at, here);
  rf_vec3_sub(p, here, off);
  if (!(rf_vec3_dot(off, off) <= RF_FACE_NEAR * RF_FACE_NEAR * reach * reach)) return false;
  set_weights(nodes, at[0], at[1], w);
  return true;
}

void rf_face_middle(int32_t nodes, const double x[][3], rf_face_frame *out) {
  const bool triangle = is_triangle(nodes);
  const double centre[2] = {triangle ? 1.0 / 3.0 : 0.0, triangle ? 1.0 / 3.0 : 0.0};
  double side[2][3], off[3];
  const int corners = triangle ? 3 : 4;
  point_at(nodes, x, centre, out->middle);
  rf_vec3_sub(x[triangle ? 1 : 2], x[0], side[0]);
  rf_vec3_sub(x[triangle ? 2 : 3], x[triangle ? 0 : 1], side[1]);
  rf_vec3_cross(side[0], side[1], out->normal);
  out->reach = 0.0;
  for (int a = 0; a < corners; ++a) {
    rf_vec3_sub(x[a], out->middle, off);
    out->reach = fmax(out->reach, rf_vec3_length(off));
  }
  const double length = rf_vec3_length(out->normal);
  for (int i = 0; i < 3; ++i) out->normal[i] = length > 0.0 ? out->normal[i] / length : 0.0;
}

bool rf_face_holds(int32_t nodes, const double x[][3], const double *p, double near) {
  double at[2], here[3], off[3];
  if (!find_foot(nodes, x, p, at)) return false;
  const double low = is_triangle(nodes) ? 0.0 : -1.0, sum = at[0] + at[1];
  if (at[0] < low - RF_FACE_NEAR || at[1] < low - RF_FACE_NEAR) return false;
  if (is_triangle(nodes) ? sum > 1.0 + RF_FACE_NEAR : fmax(at[0], at[1]) > 1.0 + RF_FACE_NEAR)
    return false;
  point_at(nodes, x, at, here);
  rf_vec3_sub(p, here, off);
  return rf_vec3_dot(off, off) <= near * near;
}
