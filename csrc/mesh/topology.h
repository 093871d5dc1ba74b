// Connected components and boundary faces of a mesh.
//
// Two elements share a face when all its corners are the same nodes (then its mid-edge nodes are,
// too). Faces of smaller elements on a face of a larger one, which constrained nodes join, are
// shared with it, if they cover it.  Constrained nodes join their elements to those of their
// masters, as nodes in common do.  Voxel parts that meet only along an edge or at a node are one
// component by nodes but two by faces: a hinge, which has no elastic resistance.
#ifndef RF_MESH_TOPOLOGY_H
#define RF_MESH_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"
#include "mesh/surface.h"

// Sets label[e] in [0, *count), numbered by the first element of each component.
RF_MUST_CHECK rf_status rf_mesh_components(const rf_mesh *mesh, bool by_face, int32_t *label,
                                           int32_t *count, rf_error *err);

// Sets mate[f] to the face of another element with the same nodes as face f, -1: none.  Face f is
// face f % faces of element f / faces, with 6 faces for hexes and 4 for tets; if more than two
// share their nodes, the first two are mates.
RF_MUST_CHECK rf_status rf_mesh_mates(const rf_mesh *mesh, int64_t *mate, rf_error *err);

// Faces that belong to one element only, ordered by element; corners run counter-clockwise seen
// from outside, mid-edge nodes follow in the order of VTK_QUADRATIC_TRIANGLE and
// VTK_QUADRATIC_QUAD.
typedef struct rf_boundary {
  int32_t n_faces, face_nodes;  // 3 for tets, 4 for hexes; 6 and 8 for second order
  int32_t *nodes;               //                                (n_faces, face_nodes)
  int32_t *element;             // element of each face            (n_faces)
} rf_boundary;

// Nodes (6) of face f of a tet; four-node tets have the first three.
const uint8_t *rf_tet_face(int f);
// Nodes (8) of face f of a hex; eight-node hexes have the first four.
const uint8_t *rf_hex_face(int f);
// Returns triangle k of the face_nodes - 2 that make up a face: indices into its nodes.
const uint8_t *rf_face_triangle(int32_t face_nodes, int k);

// Faces of smaller elements on one of a larger element that they cover in part only belong to it,
// as that one does: the surface stays closed.
RF_MUST_CHECK rf_status rf_mesh_boundary(const rf_mesh *mesh, rf_boundary *out, rf_error *err);
void rf_boundary_free(rf_boundary *boundary);

// Sets *element to the first one with a face that smaller elements cover in part only, -1: none.
RF_MUST_CHECK rf_status rf_mesh_partly_covered(const rf_mesh *mesh, int32_t *element,
                                               rf_error *err);

// Computes the volume of each element, for cut ones of the filled part, m^3 (n_elements).
void rf_mesh_volumes(const rf_mesh *mesh, double *volume);
// Returns the number of elements whose volume is not positive at the displacements u (n_nodes, 3).
int32_t rf_mesh_inverted(const rf_mesh *mesh, const double *u);

#endif
