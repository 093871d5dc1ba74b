#include "mesh/curved.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "linalg/vec3.h"
#include "mesh/reference.h"

enum {
  COEFFICIENTS = 20,          // coefficients of a cubic on a tetrahedron
  SIDE = 6,                   // coefficients of a quintic along an axis
  CUBE = SIDE * SIDE * SIDE,  // coefficients on a cube
  BISECTIONS = 6              // bisections of an element that the bound leaves undecided
};

// ---- tets -------------------------------------------------------------------

// J at the four corners: rows dx/dxi_k.
typedef struct corner_jacobians {
  double j[4][3][3];
} corner_jacobians;

static corner_jacobians jacobians(const double x[10][3]) {
  corner_jacobians c = {0};
  for (int a = 0; a < 4; ++a) {
    const double xi[3] = {a == 1, a == 2, a == 3};
    double n[10], dn[10][3];
    rf_tet10_shape(xi, n, dn);
    // differences to corner 0 avoid cancellation in meshes far from the origin
    for (int b = 1; b < 10; ++b)
      for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i) c.j[a][k][i] += dn[b][k] * (x[b][i] - x[0][i]);
  }
  return c;
}

// Returns the coefficient of corners a, b, c: the mean over the assignments of rows to corners.
static double coefficient(const corner_jacobians *J, int a, int b, int c) {
  const int order[6][3] = {{a, b, c}, {b, c, a}, {c, a, b}, {a, c, b}, {c, b, a}, {b, a, c}};
  double sum = 0.0;
  for (int p = 0; p < 6; ++p)
    sum += rf_vec3_det(J->j[order[p][0]][0], J->j[order[p][1]][1], J->j[order[p][2]][2]);
  return sum / 6.0;
}

static void coefficients(const corner_jacobians *J, double value[COEFFICIENTS]) {
  int at = 0;
  for (int a = 0; a < 4; ++a)
    for (int b = a; b < 4; ++b)
      for (int c = b; c < 4; ++c) value[at++] = coefficient(J, a, b, c);
}

// Corners of the eight parts of an element, as node numbers.
static const unsigned char PART[8][4] = {{0, 4, 6, 7}, {4, 1, 5, 8}, {6, 5, 2, 9}, {7, 8, 9, 3},
                                         {4, 5, 6, 8}, {4, 6, 7, 8}, {6, 9, 7, 8}, {6, 5, 9, 8}};

static double lower_bound(const corner_jacobians *J, double least, int bisections) {
  double value[COEFFICIENTS], low = INFINITY, corner = INFINITY;
  coefficients(J, value);
  for (int k = 0; k < COEFFICIENTS; ++k) {
    if (!isfinite(value[k])) return NAN;
    low = fmin(low, value[k]);
  }
  for (int a = 0; a < 4; ++a) corner = fmin(corner, coefficient(J, a, a, a));
  if (low > least || !(corner > least) || bisections == 0) return low;

  double lowest = INFINITY;
  for (int p = 0; p < 8 && !(lowest <= least); ++p) {
    corner_jacobians part = {0};
    for (int a = 0; a < 4; ++a) {
      const int node = PART[p][a];
      const int b = node < 4 ? node : RF_TET_EDGE[node - 4][0];
      const int c = node < 4 ? node : RF_TET_EDGE[node - 4][1];
      for (int k = 0; k < 9; ++k)
        (&part.j[a][0][0])[k] = 0.5 * ((&J->j[b][0][0])[k] + (&J->j[c][0][0])[k]);
    }
    lowest = fmin(lowest, lower_bound(&part, least, bisections - 1));
  }
  return lowest;
}

double rf_tet10_jacobian(const double x[10][3], double least) {
  const corner_jacobians J = jacobians(x);
  return lower_bound(&J, 6.0 * least, BISECTIONS) / 6.0;
}

double rf_tet10_volume(const double x[10][3]) {
  const corner_jacobians J = jacobians(x);
  double value[COEFFICIENTS], sum = 0.0;
  coefficients(&J, value);
  for (int k = 0; k < COEFFICIENTS; ++k) sum += value[k];
  return sum / (6.0 * COEFFICIENTS);
}

// ---- hexes ------------------------------------------------------------------

// Returns det J at local coordinates xi; differences to corner 0 avoid cancellation far from the
// origin.
static double hex20_determinant(const double x[20][3], const double xi[3]) {
  double n[20], dn[20][3], j[3][3] = {{0.0}};
  rf_hex20_shape(xi, n, dn);
  for (int a = 1; a < 20; ++a)
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < 3; ++i) j[k][i] += dn[a][k] * (x[a][i] - x[0][i]);
  return rf_vec3_det(j[0], j[1], j[2]);
}

// Applies a matrix (SIDE, SIDE) along the axis of the cube with stride `stride`.
static void apply_along(const double matrix[SIDE][SIDE], int stride, double value[CUBE]) {
  for (int first = 0; first < CUBE; ++first) {
    if (first / stride % SIDE != 0) continue;
    double line[SIDE];
    for (int i = 0; i < SIDE; ++i) {
      line[i] = 0.0;
      for (int j = 0; j < SIDE; ++j) line[i] += matrix[i][j] * value[first + j * stride];
    }
    for (int i = 0; i < SIDE; ++i) value[first + i * stride] = line[i];
  }
}

// Computes the Bernstein coefficients of det J from its values at k / 5 along each axis.
static void hex20_coefficients(const double x[20][3], double value[CUBE]) {
  static const double INVERSE[SIDE][SIDE] = {{240, 0, 0, 0, 0, 0},
                                             {-308, 1200, -1200, 800, -300, 48},
                                             {269, -1450, 2950, -2300, 925, -154},
                                             {-154, 925, -2300, 2950, -1450, 269},
                                             {48, -300, 800, -1200, 1200, -308},
                                             {0, 0, 0, 0, 0, 240}};
  for (int p = 0; p < CUBE; ++p) {
    const int at[3] = {p % SIDE, p / SIDE % SIDE, p / (SIDE * SIDE)};
    double xi[3];
    for (int k = 0; k < 3; ++k) xi[k] = 2.0 * at[k] / (SIDE - 1) - 1.0;
    value[p] = hex20_determinant(x, xi) / (240.0 * 240.0 * 240.0);
  }
  for (int stride = 1; stride < CUBE; stride *= SIDE) apply_along(INVERSE, stride, value);
}

// Computes the coefficients of the lower or upper half of the cube along an axis (de Casteljau).
static void halve_along(bool upper, int stride, double value[CUBE]) {
  static const double LOWER[SIDE][SIDE] = {
      {1, 0, 0, 0, 0, 0},
      {1 / 2.0, 1 / 2.0, 0, 0, 0, 0},
      {1 / 4.0, 2 / 4.0, 1 / 4.0, 0, 0, 0},
      {1 / 8.0, 3 / 8.0, 3 / 8.0, 1 / 8.0, 0, 0},
      {1 / 16.0, 4 / 16.0, 6 / 16.0, 4 / 16.0, 1 / 16.0, 0},
      {1 / 32.0, 5 / 32.0, 10 / 32.0, 10 / 32.0, 5 / 32.0, 1 / 32.0}};
  double matrix[SIDE][SIDE];
  for (int i = 0; i < SIDE; ++i)
    for (int j = 0; j < SIDE; ++j)
      matrix[i][j] = upper ? LOWER[SIDE - 1 - i][SIDE - 1 - j] : LOWER[i][j];
  apply_along((const double(*)[SIDE])matrix, stride, value);
}

static double lower_bound_cube(const double value[CUBE], double least, int bisections) {
  double low = INFINITY, corner = INFINITY;
  for (int p = 0; p < CUBE; ++p) {
    if (!isfinite(value[p])) return NAN;
    low = fmin(low, value[p]);
  }
  for (int a = 0; a < 8; ++a)
    corner =
        fmin(corner, value[(SIDE - 1) * ((a & 1) + SIDE * (a >> 1 & 1) + SIDE * SIDE * (a >> 2))]);
  if (low > least || !(corner > least) || bisections == 0) return low;

  double lowest = INFINITY;
  for (int p = 0; p < 8 && !(lowest <= least); ++p) {
    double part[CUBE];
    memcpy(part, value, sizeof part);
    for (int k = 0, stride = 1; k < 3; ++k, stride *= SIDE) halve_along(p >> k & 1, stride, part);
    lowest = fmin(lowest, lower_bound_cube(part, least, bisections - 1));
  }
  return lowest;
}

double rf_hex20_jacobian(const double x[20][3], double least) {
  double value[CUBE];
  hex20_coefficients(x, value);
  return 8.0 * lower_bound_cube(value, least / 8.0, BISECTIONS);
}

// Three points integrate a quintic exactly.
double rf_hex20_volume(const double x[20][3]) {
  static const double POINT[3] = {-RF_GAUSS_3, 0.0, RF_GAUSS_3};
  static const double WEIGHT[3] = {5.0 / 9.0, 8.0 / 9.0, 5.0 / 9.0};
  double sum = 0.0;
  for (int g = 0; g < 27; ++g) {
    const int at[3] = {g % 3, g / 3 % 3, g / 9};
    const double xi[3] = {POINT[at[0]], POINT[at[1]], POINT[at[2]]};
    sum += WEIGHT[at[0]] * WEIGHT[at[1]] * WEIGHT[at[2]] * hex20_determinant(x, xi);
  }
  return sum;
}
