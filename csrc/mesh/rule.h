// Quadrature rules that elements of a mesh bring along, for elements of which only a part is
// filled.  An element without points of its own is whole and has the standard rule of the solid.
// Elements with points are parallelepipeds: their Jacobian is constant.
#ifndef RF_MESH_RULE_H
#define RF_MESH_RULE_H

#include <stdint.h>

typedef struct rf_rule {
  int64_t *ptr;     // points of element e: ptr[e] .. ptr[e + 1] - 1   (n_elements + 1)
  double *point;    // local coordinates in [-1, 1]                    (ptr[n_elements], 3)
  double *weight;   // positive, sum in an element: 8 times the filled fraction (ptr[n_elements])
  double *product;  // integrals of N_a N_b over the filled part in local coordinates, upper
                    // triangle by rows (elements with points, type (type + 1) / 2)
} rf_rule;

#endif
