// Volume meshes of one element type: nodes, elements, regions; sealed on creation.
//
// Node order within an element is VTK's (VTK_TETRA, VTK_HEXAHEDRON, VTK_QUADRATIC_TETRA,
// VTK_QUADRATIC_HEXAHEDRON). Creation guarantees finite nodes, indices in range, no repeated node
// in an element, no unreferenced node, one mid-edge node per edge of second-order elements, and a
// positive Jacobian (tets and 20-node hexes, curved ones too: everywhere; eight-node hexes: at
// corners, 2x2x2 and 3x3x3 Gauss points, centre included).
#ifndef RF_MESH_MESH_H
#define RF_MESH_MESH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/constraints.h"
#include "mesh/rule.h"

// The value is the number of nodes of an element.
typedef enum rf_element_type {
  RF_TET4 = 4,
  RF_HEX8 = 8,
  RF_TET10 = 10,
  RF_HEX20 = 20
} rf_element_type;

enum { RF_MAX_NODES = 20 };  // largest number of nodes of an element

static inline bool rf_element_is_tet(rf_element_type type) {
  return type == RF_TET4 || type == RF_TET10;
}
// True for second order: nodes at the corners, then one on each edge.
static inline bool rf_element_is_quadratic(rf_element_type type) {
  return type == RF_TET10 || type == RF_HEX20;
}

typedef struct rf_mesh {
  rf_element_type type;
  int32_t n_nodes, n_elements;
  double *nodes;                // rest positions, m        (n_nodes, 3)
  int32_t *elements;            // node indices             (n_elements, type)
  int32_t *regions;             // region of each element   (n_elements)
  rf_rule *rule;                // quadrature of partly filled elements, owned; NULL: all are whole
  rf_constraints *constraints;  // nodes that follow others, owned; NULL: none
} rf_mesh;

// DOF numbers, 3 node + axis, must fit an int32.
enum { RF_MESH_MAX_NODES = INT32_MAX / 3 };

// Copies and checks the arrays.  `regions` is nullable: all zero.
RF_MUST_CHECK rf_status rf_mesh_create(rf_element_type type, int32_t n_nodes, const double *nodes,
                                       int32_t n_elements, const int32_t *elements,
                                       const int32_t *regions, rf_mesh **out, rf_error *err);
// Allocates zeroed arrays, for rooms that fill them themselves.
RF_MUST_CHECK rf_status rf_mesh_allocate(rf_element_type type, int32_t n_nodes, int32_t n_elements,
                                         rf_mesh **out, rf_error *err);
void rf_mesh_free(rf_mesh *mesh);  // NULL is allowed

// Diagonal of the box around n >= 1 nodes (n, 3).
double rf_mesh_length(int32_t n, const double *nodes);

// RF_ERR_MESH unless the Jacobian of every element is positive, as described above.
RF_MUST_CHECK rf_status rf_mesh_check_jacobians(const rf_mesh *mesh, rf_error *err);

#endif
