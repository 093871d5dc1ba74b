// What hangs together in a mesh, and where it ends.
//
// Two elements share a face when all its corners are the same nodes.  Voxel parts
// that meet only along an edge or at a node are one part by nodes but two by faces:
// a hinge, which a solid cannot hold.
#ifndef RF_MESH_TOPOLOGY_H
#define RF_MESH_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"
#include "mesh/surface.h"

// label[e] in [0, *count), numbered in the order of each part's first element.
RF_MUST_CHECK rf_status rf_mesh_components(const rf_mesh *mesh, bool by_face, int32_t *label,
                                           int32_t *count, rf_error *err);

// Faces that belong to one element only, by element; corners run counter-clockwise
// seen from outside.
typedef struct rf_boundary {
  int32_t n_faces, n_corners;  // 3 corners for tets, 4 for hexes
  int32_t *corners;            // nodes                          (n_faces, n_corners)
  int32_t *element;            // to which the face belongs      (n_faces)
} rf_boundary;

RF_MUST_CHECK rf_status rf_mesh_boundary(const rf_mesh *mesh, rf_boundary *out, rf_error *err);
void rf_boundary_free(rf_boundary *boundary);

// Volume of each element in m^3 (n_elements).
void rf_mesh_volumes(const rf_mesh *mesh, double *volume);

#endif
