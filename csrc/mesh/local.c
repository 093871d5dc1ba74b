#include "mesh/local.h"

#include <math.h>
#include <string.h>

#include "linalg/vec3.h"
#include "mesh/reference.h"

// Tolerances of local coordinates, in units of half a hexahedron's size.
static const double EXACT = 1e-14;  // smaller steps are rounding
static const double CLOSE = 1e-10;  // below this the next Newton step is the last
static const double FAR = 2.0;   // limit of iterates around the centre: further out the map folds
static const double NEAR = 1.5;  // failures that end this near are tried from other starts
static const double TOWARDS_CORNER = 0.7;  // position of these starts between centre and corners
static const double STRAIGHT = 1e-9;       // relative offset of mid-edge nodes of straight edges
enum {
  NEWTON_MOST = 40,  // limit; a handful is usual
  HALVINGS = 30      // limit: steps scaled by 1e-9 make no progress
};

bool rf_local_invert(const double j[3][3], double out[3][3]) {
  const double det = rf_mat3_inverse_transposed(j[0], out[0]);
  return fabs(det) > 0.0 && isfinite(1.0 / det);
}

void rf_tet_weights(const double x[RF_MAX_NODES][3], const double *p, double *w) {
  double edge[3][3], dual[3][3], d[3];
  for (int a = 0; a < 3; ++a) rf_vec3_sub(x[a + 1], x[0], edge[a]);
  rf_vec3_sub(p, x[0], d);
  // meshes hold no tets without volume; as a fallback node 0 carries the point
  w[0] = 1.0;
  for (int a = 0; a < 3; ++a) w[a + 1] = 0.0;
  if (!rf_local_invert(edge, dual)) return;
  for (int a = 0; a < 3; ++a) {
    w[a + 1] = rf_vec3_dot(dual[a], d);
    w[0] -= w[a + 1];
  }
}

void rf_local_map(rf_element_type type, const double x[RF_MAX_NODES][3], const double *xi,
                  rf_local *at) {
  rf_reference_shape(type, xi, at->n, at->dn);
  memset(at->place, 0, sizeof at->place);
  memset(at->j, 0, sizeof at->j);
  for (int a = 0; a < (int)type; ++a)
    for (int i = 0; i < 3; ++i) {
      at->place[i] += at->n[a] * x[a][i];
      for (int k = 0; k < 3; ++k) at->j[k][i] += at->dn[a][k] * x[a][i];
    }
}

static double centre_of(rf_element_type type) { return rf_element_is_tet(type) ? 0.25 : 0.0; }

// Solves x(xi) = p by Newton's method with halved steps from a given start; false on failure.
static bool newton(rf_element_type type, const double x[RF_MAX_NODES][3], const double *p,
                   double xi[3]) {
  rf_local at;
  double dual[3][3], best = INFINITY;
  const double centre = centre_of(type);
  for (int it = 0; it < NEWTON_MOST; ++it) {
    rf_local_map(type, x, xi, &at);
    double r[3], step[3], size = 0.0;
    rf_vec3_sub(p, at.place, r);
    best = rf_vec3_dot(r, r);
    if (!rf_local_invert((const double(*)[3])at.j, dual)) return false;
    for (int k = 0; k < 3; ++k) {
      step[k] = rf_vec3_dot(dual[k], r);
      size = fmax(size, fabs(step[k]));
    }
    if (size <= EXACT) return true;

    // require progress; steps near rounding are accepted unconditionally
    bool nearer = false;
    for (int half = 0; half < HALVINGS && !nearer; ++half) {
      double trial[3], q[3];
      for (int k = 0; k < 3; ++k)
        trial[k] = fmax(centre - FAR, fmin(centre + FAR, xi[k] + step[k]));
      rf_local_map(type, x, trial, &at);
      rf_vec3_sub(p, at.place, q);
      nearer = rf_vec3_dot(q, q) < best || size < CLOSE;
      for (int k = 0; k < 3; ++k) step[k] *= 0.5;
      if (nearer) memcpy(xi, trial, sizeof trial);
    }
    if (size < CLOSE) return true;
    if (!nearer) return false;
  }
  return false;
}

bool rf_local_straight(rf_element_type type, const double x[RF_MAX_NODES][3]) {
  const rf_edges of = rf_edges_of(type);
  for (int e = 0; e < of.count; ++e) {
    const double *a = x[of.end[e][0]], *b = x[of.end[e][1]];
    double off = 0.0, length = 0.0;
    for (int i = 0; i < 3; ++i) {
      off = fmax(off, fabs(x[of.corners + e][i] - 0.5 * (a[i] + b[i])));
      length = fmax(length, fabs(a[i] - b[i]));
    }
    if (!(off <= STRAIGHT * length)) return false;
  }
  return true;
}

// Computes the local coordinates of a node of a second-order element.
static void node_coordinates(rf_element_type type, int node, double xi[3]) {
  const rf_edges of = rf_edges_of(type);
  const int a = node < of.corners ? node : of.end[node - of.corners][0];
  const int b = node < of.corners ? node : of.end[node - of.corners][1];
  for (int k = 0; k < 3; ++k)
    xi[k] = type == RF_TET10 ? 0.5 * ((a == k + 1) + (b == k + 1))
                             : 0.5 * (RF_HEX_CORNER[a][k] + RF_HEX_CORNER[b][k]);
}

// A curved map may reach p from several points, and Newton's first solution may lie outside the
// element.
static bool find_in_curved(rf_element_type type, const double x[RF_MAX_NODES][3], const double *p,
                           double margin, double xi[3]) {
  const double centre = centre_of(type);
  double first[3];
  for (int k = 0; k < 3; ++k) xi[k] = centre;
  const bool found = newton(type, x, p, xi);
  if (found && (rf_local_inside(type, xi, margin) || rf_local_straight(type, x))) return true;
  memcpy(first, xi, sizeof first);
  for (int start = 0; start < (int)type; ++start) {
    node_coordinates(type, start, xi);
    for (int k = 0; k < 3; ++k) xi[k] = centre + TOWARDS_CORNER * (xi[k] - centre);
    if (newton(type, x, p, xi) && rf_local_inside(type, xi, margin)) return true;
  }
  memcpy(xi, first, sizeof first);
  return found;
}

static bool find_in_hex8(const double x[RF_MAX_NODES][3], const double *p, double xi[3]) {
  for (int k = 0; k < 3; ++k) xi[k] = 0.0;
  if (newton(RF_HEX8, x, p, xi)) return true;
  for (int a = 0; a < 8; ++a) {
    for (int k = 0; k < 3; ++k)
      if (!(fabs(xi[k]) < NEAR)) return false;
    for (int k = 0; k < 3; ++k) xi[k] = TOWARDS_CORNER * RF_HEX_CORNER[a][k];
    if (newton(RF_HEX8, x, p, xi)) return true;
  }
  return false;
}

bool rf_local_find(rf_element_type type, const double x[RF_MAX_NODES][3], const double *p,
                   double margin, double xi[3]) {
  // with straight edges the map of 20 nodes equals that of the corners
  if (type == RF_HEX8 || (type == RF_HEX20 && rf_local_straight(type, x)))
    return find_in_hex8(x, p, xi);
  return find_in_curved(type, x, p, margin, xi);
}

bool rf_local_inside(rf_element_type type, const double xi[3], double margin) {
  if (!rf_element_is_tet(type)) {
    const double limit = 1.0 + 2.0 * margin;
    return fabs(xi[0]) <= limit && fabs(xi[1]) <= limit && fabs(xi[2]) <= limit;
  }
  return xi[0] >= -margin && xi[1] >= -margin && xi[2] >= -margin &&
         xi[0] + xi[1] + xi[2] <= 1.0 + margin;
}

void rf_local_weights(rf_element_type type, const double x[RF_MAX_NODES][3], const double *xi,
                      const double *p, double *w) {
  rf_local at;
  double dual[3][3], d[3], local[3];
  rf_local_map(type, x, xi, &at);
  memcpy(w, at.n, (size_t)type * sizeof *w);
  if (!rf_local_invert((const double(*)[3])at.j, dual)) return;
  rf_vec3_sub(p, at.place, d);
  for (int k = 0; k < 3; ++k) local[k] = rf_vec3_dot(dual[k], d);
  for (int a = 0; a < (int)type; ++a) w[a] += rf_vec3_dot(at.dn[a], local);
}

void rf_tet_gradients(const double x[RF_MAX_NODES][3], double gradient[RF_MAX_NODES][3]) {
  double edge[3][3], dual[3][3];
  memset(gradient, 0, 12 * sizeof **gradient);
  for (int a = 0; a < 3; ++a) rf_vec3_sub(x[a + 1], x[0], edge[a]);
  if (!rf_local_invert(edge, dual)) return;
  for (int a = 0; a < 3; ++a)
    for (int i = 0; i < 3; ++i) {
      gradient[a + 1][i] = dual[a][i];
      gradient[0][i] -= dual[a][i];
    }
}

void rf_local_gradients(rf_element_type type, const double x[RF_MAX_NODES][3], const double *xi,
                        double gradient[RF_MAX_NODES][3]) {
  rf_local at;
  double dual[3][3];
  memset(gradient, 0, 3 * (size_t)type * sizeof **gradient);
  rf_local_map(type, x, xi, &at);
  if (!rf_local_invert((const double(*)[3])at.j, dual)) return;
  for (int a = 0; a < (int)type; ++a)
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) gradient[a][i] += at.dn[a][k] * dual[k][i];
}
