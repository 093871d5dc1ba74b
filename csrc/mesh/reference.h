// Reference elements.  Hexahedra: the cube [-1, 1]^3 with corners in VTK order, shape functions of
// eight nodes (trilinear) and of 20 (serendipity), Gauss-Legendre points along an axis.  Ten-node
// tetrahedra: local coordinates are the barycentric coordinates of corners 1, 2, 3.
#ifndef RF_MESH_REFERENCE_H
#define RF_MESH_REFERENCE_H

#include "mesh/mesh.h"

#define RF_GAUSS_2 0.57735026918962576451  // 1/sqrt(3): two points
#define RF_GAUSS_3 0.77459666924148337704  // sqrt(3/5): three points, with 0

static const double RF_HEX_CORNER[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                           {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};

// Computes the shape functions n_a = (1 + c_a0 xi_0) (1 + c_a1 xi_1) (1 + c_a2 xi_2) / 8 and their
// local derivatives.
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

// Edges whose middles carry the nodes after the corners.
static const unsigned char RF_TET_EDGE[6][2] = {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {1, 3}, {2, 3}};
static const unsigned char RF_HEX_EDGE[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6},
                                                 {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};

typedef struct rf_edges {
  int corners, count;  // corners and edges of an element
  const unsigned char (*end)[2];
} rf_edges;

static inline rf_edges rf_edges_of(rf_element_type type) {
  return rf_element_is_tet(type) ? (rf_edges){4, 6, RF_TET_EDGE} : (rf_edges){8, 12, RF_HEX_EDGE};
}

// Computes the shape functions l_a (2 l_a - 1) of the corners and 4 l_a l_b of the edges, with the
// barycentric coordinates l, and their local derivatives.
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

// Computes the serendipity functions: with the trilinear n_a of a corner  n_a (c_a . xi - 2),  and
// (1 - xi_k^2) (1 + c_l xi_l) (1 + c_m xi_m) / 4  for the middle c of an edge along axis k.
static inline void rf_hex20_shape(const double xi[3], double n[20], double dn[20][3]) {
  rf_hex_shape(xi, n, dn);
  for (int a = 0; a < 8; ++a) {
    const double *c = RF_HEX_CORNER[a];
    const double factor = c[0] * xi[0] + c[1] * xi[1] + c[2] * xi[2] - 2.0;
    for (int k = 0; k < 3; ++k) dn[a][k] = dn[a][k] * factor + n[a] * c[k];
    n[a] *= factor;
  }
  for (int e = 0; e < 12; ++e) {
    const double *from = RF_HEX_CORNER[RF_HEX_EDGE[e][0]], *to = RF_HEX_CORNER[RF_HEX_EDGE[e][1]];
    const int k = from[0] != to[0] ? 0 : from[1] != to[1] ? 1 : 2, l = (k + 1) % 3, m = (k + 2) % 3;
    const double u = 1.0 - xi[k] * xi[k], v = 1.0 + from[l] * xi[l], w = 1.0 + from[m] * xi[m];
    n[8 + e] = 0.25 * u * v * w;
    dn[8 + e][k] = -0.5 * xi[k] * v * w;
    dn[8 + e][l] = 0.25 * from[l] * u * w;
    dn[8 + e][m] = 0.25 * from[m] * u * v;
  }
}

// For all types except four-node tets, which have closed forms.
static inline void rf_reference_shape(rf_element_type type, const double xi[3],
                                      double n[RF_MAX_NODES], double dn[RF_MAX_NODES][3]) {
  switch (type) {
    case RF_TET10: rf_tet10_shape(xi, n, dn); return;
    case RF_HEX20: rf_hex20_shape(xi, n, dn); return;
    default: rf_hex_shape(xi, n, dn); return;
  }
}

#endif
