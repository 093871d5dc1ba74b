#include "fem/shape.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "linalg/vec3.h"
#include "mesh/reference.h"

// Gauss-Legendre points and weights on [-1,1]
static const double GAUSS_POINT[2][3] = {{-RF_GAUSS_2, RF_GAUSS_2, 0.0},
                                         {-RF_GAUSS_3, 0.0, RF_GAUSS_3}};
static const double GAUSS_WEIGHT[2][3] = {{1.0, 1.0, 0.0}, {5.0 / 9.0, 8.0 / 9.0, 5.0 / 9.0}};

static rf_status refuse_jacobian(int32_t element, int point, double det, rf_error *err) {
  return rf_fail(
      err, RF_ERR_MESH,
      "element %d: Jacobian determinant at quadrature point %d is %g; it must be positive "
      "(the element is inverted or degenerate)",
      element, point, det);
}

// gradients are constant, 1 point is exact, integral N_a N_b = V/20 (1 + delta_ab)
static rf_status tet_tables(const double *x, int32_t element, double *gradient, double *volume,
                            double *product, rf_error *err) {
  double edge[9], inverse[9];
  for (int a = 1; a < 4; ++a) rf_vec3_sub(x + 3 * a, x, edge + 3 * (a - 1));
  // edge[b] . gradient[a] = delta_ab for a, b = 1..3
  const double det = rf_mat3_inverse_transposed(edge, inverse);
  if (!(isfinite(det) && det > 0.0)) return refuse_jacobian(element, 0, det, err);
  for (int i = 0; i < 3; ++i) {
    for (int a = 1; a < 4; ++a) gradient[3 * a + i] = inverse[3 * (a - 1) + i];
    gradient[i] = -(inverse[i] + inverse[3 + i] + inverse[6 + i]);
  }
  volume[0] = det / 6.0;
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b) product[4 * a + b] = volume[0] * (a == b ? 2.0 : 1.0) / 20.0;
  return RF_OK;
}

// one point of an element of `nodes` nodes: gradients, and the Jacobian for the caller to check
static double point_gradients(int nodes, const double *x, double local[][3], double *gradient) {
  double jacobian[9] = {0}, inverse[9];
  // edges from node 0 keep the digits of a mesh far from the origin
  for (int a = 0; a < nodes; ++a)
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) jacobian[3 * i + k] += local[a][i] * (x[3 * a + k] - x[k]);
  const double det = rf_mat3_inverse_transposed(jacobian, inverse);
  // dN/dx_k = sum_i inverse(J)_ki dN/dxi_i, J_ik = dx_k/dxi_i
  for (int a = 0; a < nodes; ++a)
    for (int k = 0; k < 3; ++k)
      gradient[3 * a + k] =
          inverse[k] * local[a][0] + inverse[3 + k] * local[a][1] + inverse[6 + k] * local[a][2];
  return det;
}

static void add_product(int nodes, double volume, const double *shape, double *product) {
  for (int a = 0; a < nodes; ++a)
    for (int b = 0; b < nodes; ++b) product[nodes * a + b] += volume * (shape[a] * shape[b]);
}

static rf_status hex_tables(int32_t per_axis, const double *x, int32_t element, double *gradient,
                            double *volume, double *product, rf_error *err) {
  const double *point = GAUSS_POINT[per_axis - 2], *weight = GAUSS_WEIGHT[per_axis - 2];
  memset(product, 0, 64 * sizeof *product);
  for (int g = 0; g < per_axis * per_axis * per_axis; ++g) {
    const int at[3] = {g % per_axis, g / per_axis % per_axis, g / (per_axis * per_axis)};
    const double xi[3] = {point[at[0]], point[at[1]], point[at[2]]};
    double shape[8], local[8][3];
    rf_hex_shape(xi, shape, local);
    const double det = point_gradients(8, x, local, gradient + 24 * g);
    if (!(isfinite(det) && det > 0.0)) return refuse_jacobian(element, g, det, err);
    volume[g] = weight[at[0]] * weight[at[1]] * weight[at[2]] * det;
    add_product(8, volume[g], shape, product);
  }
  return RF_OK;
}

// A rule on the reference tetrahedron: orbits of barycentric points, weights that sum to one.
typedef struct tet_rule {
  int corners;          // orbits of four points (1 - 3a, a, a, a)
  double a[2], w[2];    // their a and weights
  double edge, w_edge;  // orbit of six points (e, e, 1/2 - e, 1/2 - e); weight 0: none
} tet_rule;

// a = (5 - sqrt 5) / 20: exact for degree two
static const tet_rule FOUR_POINTS = {1, {0.13819660112501051518}, {0.25}, 0.0, 0.0};
// the solution of the six moment equations of degree five with positive weights (Walkington 2000)
static const tet_rule FOURTEEN_POINTS = {2,
                                         {0.092735250310891226402, 0.31088591926330060980},
                                         {0.073493043116361949544, 0.11268792571801585080},
                                         0.045503704125649649492,
                                         0.042546020777081466438};

// local coordinates and weight of the points; returns their number
static int tet_points(const tet_rule *rule, double xi[14][3], double *weight) {
  int count = 0;
  for (int o = 0; o < rule->corners; ++o)
    for (int c = 0; c < 4; ++c, ++count) {
      for (int k = 0; k < 3; ++k) xi[count][k] = c == k + 1 ? 1.0 - 3.0 * rule->a[o] : rule->a[o];
      weight[count] = rule->w[o];
    }
  if (!(rule->w_edge > 0.0)) return count;
  for (int e = 0; e < 6; ++e, ++count) {
    for (int k = 0; k < 3; ++k) {
      const bool end = RF_TET_EDGE[e][0] == k + 1 || RF_TET_EDGE[e][1] == k + 1;
      xi[count][k] = end ? 0.5 - rule->edge : rule->edge;
    }
    weight[count] = rule->w_edge;
  }
  return count;
}

static rf_status tet10_tables(int32_t order, const double *x, int32_t element, double *gradient,
                              double *volume, double *product, rf_error *err) {
  double xi[14][3], weight[14], shape[10], local[10][3], unused[30];
  const int points = tet_points(order == 3 ? &FOURTEEN_POINTS : &FOUR_POINTS, xi, weight);
  memset(product, 0, 100 * sizeof *product);
  for (int g = 0; g < points; ++g) {
    rf_tet10_shape(xi[g], shape, local);
    const double det = point_gradients(10, x, local, gradient + 30 * g);
    if (!(isfinite(det) && det > 0.0)) return refuse_jacobian(element, g, det, err);
    volume[g] = weight[g] * det / 6.0;
    if (order == 3) add_product(10, volume[g], shape, product);
  }
  if (order == 3) return RF_OK;
  // four points do not determine ten nodes: a mass by them would be singular
  const int many = tet_points(&FOURTEEN_POINTS, xi, weight);
  for (int g = 0; g < many; ++g) {
    rf_tet10_shape(xi[g], shape, local);
    add_product(10, weight[g] * point_gradients(10, x, local, unused) / 6.0, shape, product);
  }
  return RF_OK;
}

rf_status rf_shape_tables(rf_element_type type, int32_t order, const double *x, int32_t element,
                          double *gradient, double *volume, double *product, rf_error *err) {
  switch (type) {
    case RF_TET4: return tet_tables(x, element, gradient, volume, product, err);
    case RF_TET10: return tet10_tables(order, x, element, gradient, volume, product, err);
    default: return hex_tables(order, x, element, gradient, volume, product, err);
  }
}
