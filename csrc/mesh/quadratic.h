// Meshes of second-order elements: their edges, and how they are made from first-order ones.
#ifndef RF_MESH_QUADRATIC_H
#define RF_MESH_QUADRATIC_H

#include "base/status.h"
#include "mesh/mesh.h"

// The order of mid-edge nodes within an element, for messages.
const char *rf_edge_names(rf_element_type type);

// RF_ERR_MESH unless every edge of a second-order mesh has one mid-edge node, and that node no
// other place.
RF_MUST_CHECK rf_status rf_mesh_check_edges(const rf_mesh *mesh, rf_error *err);

// A mesh of ten-node tets from one of four-node tets, of 20-node hexes from one of eight-node
// hexes: its nodes, then the middles of the edges in the order of their ends.  RF_ERR_ARG for
// other elements, RF_ERR_MESH where an element folds over, between the places at which hexes of
// eight nodes are checked or because the middles are rounded.  The rule of `mesh` stays behind.
RF_MUST_CHECK rf_status rf_mesh_quadratic(const rf_mesh *mesh, rf_mesh **out, rf_error *err);

#endif
