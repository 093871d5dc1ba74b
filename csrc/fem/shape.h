// Shape functions of the two element types at their quadrature points.
#ifndef RF_FEM_SHAPE_H
#define RF_FEM_SHAPE_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"

enum { RF_MAX_NODES = 8 };

static inline int32_t rf_shape_gauss_count(rf_element_type type, int32_t per_axis) {
  return type == RF_TET4 ? 1 : per_axis * per_axis * per_axis;
}

// The inverse of the count for hexahedra; of no meaning for tetrahedra.
static inline int32_t rf_shape_per_axis(int32_t n_gauss) { return n_gauss == 27 ? 3 : 2; }

// For one element with corners x (nodes, 3): gradients (n_gauss, nodes, 3), volumes
// (n_gauss) and the integrals of N_a N_b (nodes, nodes).  RF_ERR_MESH, naming
// `element`, when a Jacobian is not positive.
RF_MUST_CHECK rf_status rf_shape_tables(rf_element_type type, int32_t per_axis, const double *x,
                                        int32_t element, double *gradient, double *volume,
                                        double *product, rf_error *err);

#endif
