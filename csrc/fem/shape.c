#include "fem/shape.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "linalg/vec3.h"
#include "mesh/reference.h"

// Gauss-Legendre points and weights on [-1,1].
static const double GAUSS_POINT[3][4] = {{-RF_GAUSS_2, RF_GAUSS_2},
                                         {-RF_GAUSS_3, 0.0, RF_GAUSS_3},
                                         {-0.86113631159405257522, -0.33998104358485626480,
                                          0.33998104358485626480, 0.86113631159405257522}};
static const double GAUSS_WEIGHT[3][4] = {{1.0, 1.0},
                                          {5.0 / 9.0, 8.0 / 9.0, 5.0 / 9.0},
                                          {0.34785484513745385737, 0.65214515486254614263,
                                           0.65214515486254614263, 0.34785484513745385737}};

static rf_status refuse_jacobian(int32_t element, int point, double det, rf_error *err) {
  return rf_fail(
      err, RF_ERR_MESH,
      "element %d: Jacobian determinant at quadrature point %d is %g; it must be positive "
      "(the element is inverted or degenerate)",
      element, point, det);
}

// ---- rules ------------------------------------------------------------------

static void hex_rule(int32_t per_axis, rf_standard_rule *rule) {
  const double *point = GAUSS_POINT[per_axis - 2], *weight = GAUSS_WEIGHT[per_axis - 2];
  rule->count = per_axis * per_axis * per_axis;
  for (int32_t g = 0; g < rule->count; ++g) {
    const int32_t at[3] = {g % per_axis, g / per_axis % per_axis, g / (per_axis * per_axis)};
    for (int k = 0; k < 3; ++k) rule->xi[3 * g + k] = point[at[k]];
    rule->weight[g] = weight[at[0]] * weight[at[1]] * weight[at[2]];
  }
}

// A rule on the reference tetrahedron: orbits of barycentric points, weights that sum to one.
typedef struct tet_rule {
  int corners;          // number of orbits of four points (1 - 3a, a, a, a)
  double a[2], w[2];    // a and weight of each orbit
  double edge, w_edge;  // orbit of six points (e, e, 1/2 - e, 1/2 - e); weight 0: none
} tet_rule;

// a = (5 - sqrt 5) / 20: exact for degree two.
static const tet_rule FOUR_POINTS = {1, {0.13819660112501051518}, {0.25}, 0.0, 0.0};
// Solution of the six moment equations of degree five with positive weights (Walkington 2000).
static const tet_rule FOURTEEN_POINTS = {2,
                                         {0.092735250310891226402, 0.31088591926330060980},
                                         {0.073493043116361949544, 0.11268792571801585080},
                                         0.045503704125649649492,
                                         0.042546020777081466438};

static void tet_rule_points(const tet_rule *rule, rf_standard_rule *out) {
  int count = 0;
  for (int o = 0; o < rule->corners; ++o)
    for (int c = 0; c < 4; ++c, ++count) {
      for (int k = 0; k < 3; ++k)
        out->xi[3 * count + k] = c == k + 1 ? 1.0 - 3.0 * rule->a[o] : rule->a[o];
      out->weight[count] = rule->w[o];
    }
  for (int e = 0; e < 6 && rule->w_edge > 0.0; ++e, ++count) {
    for (int k = 0; k < 3; ++k) {
      const bool end = RF_TET_EDGE[e][0] == k + 1 || RF_TET_EDGE[e][1] == k + 1;
      out->xi[3 * count + k] = end ? 0.5 - rule->edge : rule->edge;
    }
    out->weight[count] = rule->w_edge;
  }
  out->count = count;
}

bool rf_shape_has_rule(rf_element_type type, int32_t order) {
  switch (type) {
    case RF_TET4: return true;
    case RF_TET10: return order == 2 || order == 3;
    case RF_HEX20: return order == 3 || order == 4;
    default: return order >= 2 && order <= 4;
  }
}

void rf_shape_rule(rf_element_type type, int32_t order, rf_standard_rule *rule) {
  switch (type) {
    case RF_TET4: *rule = (rf_standard_rule){1, {0.25, 0.25, 0.25}, {1.0}}; return;
    case RF_TET10: tet_rule_points(order == 3 ? &FOURTEEN_POINTS : &FOUR_POINTS, rule); return;
    default: hex_rule(order, rule); return;
  }
}

// ---- tables -----------------------------------------------------------------

// Gradients are constant, 1 point is exact, integral N_a N_b = V/20 (1 + delta_ab).
static rf_status tet_tables(const double *x, int32_t element, double *gradient, double *volume,
                            double *product, rf_error *err) {
  double edge[9], inverse[9];
  for (int a = 1; a < 4; ++a) rf_vec3_sub(x + 3 * a, x, edge + 3 * (a - 1));
  // edge[b] . gradient[a] = delta_ab for a, b = 1..3
  const double det = rf_mat3_inverse_transposed(edge, inverse);
  if (!(isfinite(det) && det > 0.0)) return refuse_jacobian(element, 0, det, err);
  for (int i = 0; gradient && i < 3; ++i) {
    for (int a = 1; a < 4; ++a) gradient[3 * a + i] = inverse[3 * (a - 1) + i];
    gradient[i] = -(inverse[i] + inverse[3 + i] + inverse[6 + i]);
  }
  const double whole = det / 6.0;
  if (volume) volume[0] = whole;
  for (int a = 0; product && a < 4; ++a)
    for (int b = 0; b < 4; ++b) product[4 * a + b] = whole * (a == b ? 2.0 : 1.0) / 20.0;
  return RF_OK;
}

// Computes the gradients of one point; returns the Jacobian, which the caller has to check.
static double point_gradients(int nodes, const double *x, double local[][3], double *gradient) {
  double jacobian[9] = {0}, inverse[9];
  // differences to node 0 avoid cancellation in meshes far from the origin
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

rf_status rf_shape_tables(rf_element_type type, rf_points points, const double *x, int32_t element,
                          double *gradient, double *volume, double *product, rf_error *err) {
  const int nodes = (int)type;
  const double part = type == RF_TET10 ? 6.0 : 1.0;  // det J is six times the volume of a tet
  double shape[RF_MAX_NODES], local[RF_MAX_NODES][3], unused[3 * RF_MAX_NODES] = {0};
  if (type == RF_TET4) return tet_tables(x, element, gradient, volume, product, err);
  if (product) memset(product, 0, (size_t)(nodes * nodes) * sizeof *product);
  for (int32_t g = 0; g < points.count; ++g) {
    rf_reference_shape(type, points.xi + 3 * (int64_t)g, shape, local);
    double *to = gradient ? gradient + 3 * (int64_t)nodes * g : unused;
    const double det = point_gradients(nodes, x, local, to);
    if (!(isfinite(det) && det > 0.0)) return refuse_jacobian(element, g, det, err);
    const double weighted = points.weight[g] * det / part;
    if (volume) volume[g] = weighted;
    if (product) add_product(nodes, weighted, shape, product);
  }
  return RF_OK;
}
