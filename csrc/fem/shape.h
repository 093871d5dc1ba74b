// Shape functions of the element types at their quadrature points.
#ifndef RF_FEM_SHAPE_H
#define RF_FEM_SHAPE_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"

enum { RF_MAX_GAUSS = 27 };

// The order is 2 or 3.  Hexes: Gauss points per axis.  Tets of ten nodes: 2 is the rule of four
// points, exact for quadratic polynomials, and 3 that of 14 points, exact up to degree five, so
// for the energy of straight elements.  Tets of four nodes: one point, whatever the order.
static inline int32_t rf_shape_gauss_count(rf_element_type type, int32_t order) {
  if (type == RF_TET4) return 1;
  if (type == RF_TET10) return order == 3 ? 14 : 4;
  return order * order * order;
}

// The inverse of the count; of no meaning for tets of four nodes.
static inline int32_t rf_shape_order(int32_t n_gauss) {
  return n_gauss == 27 || n_gauss == 14 ? 3 : 2;
}

// For one element with nodes x (nodes, 3): gradients (n_gauss, nodes, 3), volumes
// (n_gauss) and the integrals of N_a N_b (nodes, nodes), which tets of ten nodes take with 14
// points by either order.  RF_ERR_MESH, naming `element`, when a Jacobian is not positive.
RF_MUST_CHECK rf_status rf_shape_tables(rf_element_type type, int32_t order, const double *x,
                                        int32_t element, double *gradient, double *volume,
                                        double *product, rf_error *err);

#endif
