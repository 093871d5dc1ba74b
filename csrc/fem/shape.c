#include "fem/shape.h"

#include <math.h>
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

static rf_status hex_tables(int32_t per_axis, const double *x, int32_t element, double *gradient,
                            double *volume, double *product, rf_error *err) {
  const double *point = GAUSS_POINT[per_axis - 2], *weight = GAUSS_WEIGHT[per_axis - 2];
  memset(product, 0, 64 * sizeof *product);
  for (int g = 0; g < per_axis * per_axis * per_axis; ++g) {
    const int at[3] = {g % per_axis, g / per_axis % per_axis, g / (per_axis * per_axis)};
    const double xi[3] = {point[at[0]], point[at[1]], point[at[2]]};
    double shape[8], local[8][3], jacobian[9] = {0}, inverse[9];
    rf_hex_shape(xi, shape, local);
    // edges from corner 0 keep the digits of a mesh far from the origin
    for (int a = 0; a < 8; ++a)
      for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) jacobian[3 * i + k] += local[a][i] * (x[3 * a + k] - x[k]);
    const double det = rf_mat3_inverse_transposed(jacobian, inverse);
    if (!(isfinite(det) && det > 0.0)) return refuse_jacobian(element, g, det, err);
    // dN/dx_k = sum_i inverse(J)_ki dN/dxi_i, J_ik = dx_k/dxi_i
    double *to = gradient + 24 * g;
    for (int a = 0; a < 8; ++a)
      for (int k = 0; k < 3; ++k)
        to[3 * a + k] =
            inverse[k] * local[a][0] + inverse[3 + k] * local[a][1] + inverse[6 + k] * local[a][2];
    volume[g] = weight[at[0]] * weight[at[1]] * weight[at[2]] * det;
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < 8; ++b) product[8 * a + b] += volume[g] * (shape[a] * shape[b]);
  }
  return RF_OK;
}

rf_status rf_shape_tables(rf_element_type type, int32_t per_axis, const double *x, int32_t element,
                          double *gradient, double *volume, double *product, rf_error *err) {
  return type == RF_TET4 ? tet_tables(x, element, gradient, volume, product, err)
                         : hex_tables(per_axis, x, element, gradient, volume, product, err);
}
