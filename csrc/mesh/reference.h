// The reference cube [-1, 1]^3 of hexahedra: corners in VTK order, trilinear shape functions,
// Gauss-Legendre points along an axis.
#ifndef RF_MESH_REFERENCE_H
#define RF_MESH_REFERENCE_H

#define RF_GAUSS_2 0.57735026918962576451  // 1/sqrt(3): two points
#define RF_GAUSS_3 0.77459666924148337704  // sqrt(3/5): three points, with 0

static const double RF_HEX_CORNER[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                           {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};

// Shape functions n_a = (1 + c_a0 xi_0) (1 + c_a1 xi_1) (1 + c_a2 xi_2) / 8 and their local
// derivatives.
static inline void rf_hex_shape(const double xi[3], double n[8], double dn[8][3]) {
  for (int a = 0; a < 8; ++a) {
    const double *c = RF_HEX_CORNER[a];
    const double u = 1.0 + c[0] * xi[0], v = 1.0 + c[1] * xi[1], w = 1.0 + c[2] * xi[2];
    n[a] = 0.125 * u * v * w;
    dn[a][0] = 0.125 * c[0] * v * w;
    dn[a][1] = 0.125 * c[1] * u * w;
    dn[a][2] = 0.125 * c[2] * u * v;
  }
}

#endif
