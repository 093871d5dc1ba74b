// Hanging nodes: nodes in the middle of an edge or a face of an element that does not have them.
//
// They occur where elements meet others of twice their size.  Without constraints displacements
// jump there, and the body is far too soft.  A hanging node shares a face of the surface with a
// corner of the edge or face, so parts that touch without common nodes have none.  In elements of
// second order they also lie at the quarters of edges and between the middles of face and edge.
#ifndef RF_MESH_HANGING_H
#define RF_MESH_HANGING_H

#include "mesh/mesh.h"

// Creates the list of the hanging nodes, ascending, those with constraints left out; the caller
// frees it.
RF_MUST_CHECK rf_status rf_mesh_find_hanging(const rf_mesh *mesh, int32_t *count, int32_t **nodes,
                                             rf_error *err);

// Creates a copy of the mesh in which hanging nodes follow the ends of the edge or the corners of
// the face (both: of the edge), or the masters of these if they are constrained themselves; they
// are moved to that mean.  Constraints of the mesh stay.
RF_MUST_CHECK rf_status rf_mesh_constrain_hanging(const rf_mesh *mesh, rf_mesh **out,
                                                  rf_error *err);

#endif
