// Graded meshes of tetrahedra from equal cubes, by bisection.
//
// The box of the cubes is tiled by cubes of 2^L places along each axis, each the six tetrahedra
// (x0, x1, x2, x3) of Kuhn along the paths from its lowest to its highest corner, with the tag d
// = 3. Maubach's bisection (SIAM J. Sci. Comput. 16, 1995) halves the edge x0 xd at z:
//
//   (x0 .. x_(d-1), z, x_(d+1) .. x3),  (x1 .. x_d, z, x_(d+1) .. x3),  tag d - 1, or 3 after 1
//
// Three bisections halve the edges, so that 3 L of them make six tetrahedra of each cube.
// Tetrahedra that touch the surface, or several regions, are bisected to these; then all that have
// a node in the middle of an edge, until none has.  The result is conforming, with dihedral angles
// of 45 to 120 degrees, and fills the cubes exactly.
#ifndef RF_MESH_GRADE_TETS_H
#define RF_MESH_GRADE_TETS_H

#include "base/run.h"
#include "mesh/mesh.h"

// Creates the mesh of equal whole cubes parallel to the axes; RF_ERR_MESH names an element of
// another shape.  layers: of cubes at the surface with smallest tetrahedra, at least 1.  Nodes keep
// their order: `original` (nullable) are the nodes of `cubes`, an array that the caller frees.
RF_MUST_CHECK rf_status rf_mesh_grade_tets(const rf_mesh *cubes, int32_t layers, const rf_run *run,
                                           rf_mesh **out, int32_t **original, rf_error *err);

#endif
