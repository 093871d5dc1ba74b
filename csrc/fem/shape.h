// Shape functions of the element types at quadrature points.
#ifndef RF_FEM_SHAPE_H
#define RF_FEM_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"

enum { RF_MAX_GAUSS = 64 };

// Points of a quadrature rule in local coordinates.  Weights sum to the volume of the reference
// cube (8), for tets to one.
typedef struct rf_points {
  int32_t count;
  const double *xi;      // (count, 3)
  const double *weight;  // (count)
} rf_points;

typedef struct rf_standard_rule {
  int32_t count;
  double xi[3 * RF_MAX_GAUSS], weight[RF_MAX_GAUSS];
} rf_standard_rule;

// Standard rules.  Hexes: the order is the number of Gauss points per axis, 2 to 4; with 20 nodes 3
// (exact for the mass and the stiffness at rest of parallelepipeds) or 4. Tets of ten nodes: order
// 2 is the rule of four points, exact for quadratic polynomials, and 3 that of 14 points, exact up
// to degree five and so for the energy of straight elements.  Tets of four nodes: one point for any
// order.
bool rf_shape_has_rule(rf_element_type type, int32_t order);
void rf_shape_rule(rf_element_type type, int32_t order, rf_standard_rule *rule);

// Returns the order used to integrate the mass.  Four points would give ten-node tets a singular
// mass.
static inline int32_t rf_shape_mass_order(rf_element_type type, int32_t order) {
  return type == RF_TET10 ? 3 : order;
}

static inline rf_points rf_shape_points(const rf_standard_rule *rule) {
  return (rf_points){rule->count, rule->xi, rule->weight};
}

// Computes for one element with nodes x (nodes, 3): gradients (count, nodes, 3), volumes (count)
// and the integrals of N_a N_b (nodes, nodes), exact for tets of four nodes; each nullable.
// RF_ERR_MESH, naming `element`, when a Jacobian is not positive.
RF_MUST_CHECK rf_status rf_shape_tables(rf_element_type type, rf_points points, const double *x,
                                        int32_t element, double *gradient, double *volume,
                                        double *product, rf_error *err);

#endif
