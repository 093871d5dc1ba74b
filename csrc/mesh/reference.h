// The reference cube [-1, 1]^3 of hexahedra: corners in VTK order, trilinear shape functions,
// Gauss-Legendre points along an axis.  The reference tetrahedron of ten nodes: its local
// coordinates are the barycentric ones of corners 1, 2, 3.
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

// the edges on whose middles nodes 4 .. 9 lie
static const unsigned char RF_TET_EDGE[6][2] = {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {1, 3}, {2, 3}};

// Shape functions l_a (2 l_a - 1) of the corners and 4 l_a l_b of the edges, with the barycentric
// coordinates l, and their local derivatives.
static inline void rf_tet10_shape(const double xi[3], double n[10], double dn[10][3]) {
  static const double dl[4][3] = {{-1, -1, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const double l[4] = {1.0 - xi[0] - xi[1] - xi[2], xi[0], xi[1], xi[2]};
  for (int a = 0; a < 4; ++a) {
    n[a] = l[a] * (2.0 * l[a] - 1.0);
    for (int k = 0; k < 3; ++k) dn[a][k] = (4.0 * l[a] - 1.0) * dl[a][k];
  }
  for (int e = 0; e < 6; ++e) {
    const int a = RF_TET_EDGE[e][0], b = RF_TET_EDGE[e][1];
    n[4 + e] = 4.0 * l[a] * l[b];
    for (int k = 0; k < 3; ++k) dn[4 + e][k] = 4.0 * (l[a] * dl[b][k] + l[b] * dl[a][k]);
  }
}

#endif
