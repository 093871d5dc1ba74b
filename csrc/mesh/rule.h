// Quadrature rules stored with a mesh, for partly filled elements.  An element without points of
// its own is whole and uses the standard rule of the solid.  Elements with points are
// parallelepipeds: their Jacobian is constant.
#ifndef RF_MESH_RULE_H
#define RF_MESH_RULE_H

#include <stdint.h>

#include "base/status.h"

typedef struct rf_rule {
  int64_t *ptr;     // points of element e: ptr[e] .. ptr[e + 1] - 1   (n_elements + 1)
  double *point;    // local coordinates in [-1, 1]                    (ptr[n_elements], 3)
  double *weight;   // positive; sum over an element: 8 times the filled fraction (ptr[n_elements])
  double *product;  // integrals of N_a N_b over the filled part in local coordinates, upper
                    // triangle by rows (elements with points, type (type + 1) / 2)
} rf_rule;

typedef struct rf_mesh rf_mesh;

// Copies the arrays and checks them against the mesh, which must have no rule yet.  RF_ERR_MESH
// unless the elements are equal parallelepipeds of eight or twenty nodes; with constrained nodes,
// whole ones may be larger by powers of two.
RF_MUST_CHECK rf_status rf_mesh_set_rule(rf_mesh *mesh, const rf_rule *from, int64_t n_points,
                                         int64_t n_products, rf_error *err);
// Copies the rule of a mesh of the same elements, if it has any, to one that has none.
RF_MUST_CHECK rf_status rf_mesh_copy_rule(const rf_mesh *from, rf_mesh *to, rf_error *err);
void rf_rule_free(rf_rule *rule);  // NULL is allowed

// RF_ERR_MESH if a node of a cut element is constrained (mesh/constraints.h): only whole elements
// may have such nodes.
RF_MUST_CHECK rf_status rf_mesh_check_cut_nodes(const rf_mesh *mesh, rf_error *err);

// Returns the number of elements with points of their own.
int32_t rf_mesh_cut_count(const rf_mesh *mesh);
// Returns the first of them, 0 if there is none.
int32_t rf_mesh_first_cut(const rf_mesh *mesh);

// Returns the filled fraction of an element, 1 for whole ones.
double rf_mesh_fraction(const rf_mesh *mesh, int32_t element);

#endif
