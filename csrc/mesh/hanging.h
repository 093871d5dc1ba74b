// Hanging nodes: nodes on an edge or a face of an element that are not nodes of that element.
//
// They occur where elements meet others of another size.  Without constraints displacements jump
// there, and the body is far too soft.  Faces of the surface on the edge or face join a hanging
// node to a corner of it, so parts that touch without common nodes have none.
#ifndef RF_MESH_HANGING_H
#define RF_MESH_HANGING_H

#include "base/run.h"
#include "mesh/mesh.h"

// Creates the list of the hanging nodes, ascending, those with constraints left out; the caller
// frees it.  run: polled for a stop.
RF_MUST_CHECK rf_status rf_mesh_find_hanging(const rf_mesh *mesh, const rf_run *run, int32_t *count,
                                             int32_t **nodes, rf_error *err);

// Creates a copy of the mesh in which hanging nodes follow the ends of the edge or the corners of
// the face (both: of the edge) by the shape functions, or the masters of these if they are
// constrained themselves; they are moved to that mean.  Constraints of the mesh stay.
RF_MUST_CHECK rf_status rf_mesh_constrain_hanging(const rf_mesh *mesh, const rf_run *run,
                                                  rf_mesh **out, rf_error *err);

#endif
