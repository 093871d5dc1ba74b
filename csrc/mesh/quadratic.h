// Meshes of second-order elements: checks of their edges, and construction from first order.
#ifndef RF_MESH_QUADRATIC_H
#define RF_MESH_QUADRATIC_H

#include "base/status.h"
#include "mesh/mesh.h"

// Returns the order of mid-edge nodes within an element, for messages.
const char *rf_edge_names(rf_element_type type);

// RF_ERR_MESH unless every edge of a second-order mesh has one mid-edge node, used there only.
RF_MUST_CHECK rf_status rf_mesh_check_edges(const rf_mesh *mesh, rf_error *err);

// Creates a mesh of ten-node tets from four-node tets, or of 20-node hexes from eight-node hexes:
// its nodes, then the middles of the edges in the order of their ends.  RF_ERR_ARG for other
// elements; RF_ERR_MESH if an element folds over, between the check points of eight-node hexes or
// because middles are rounded.  The rule of `mesh` is not copied.
RF_MUST_CHECK rf_status rf_mesh_quadratic(const rf_mesh *mesh, rf_mesh **out, rf_error *err);

#endif
