// Faces of the surface of a mesh that lie on each other without being joined.
//
// Parts of a body meet there whose elements do not fit, such as layers shifted by half an element,
// or whose nodes are twice in the file: they move independently.  The two sides of a crack
// are listed, too: shapes do not tell a crack from nodes that are twice.
//
// Not found: overlaps without a middle or corner of a face, as of crossing ones or along an edge
// under about 5 % of the width; without a middle, those of faces with common or tied nodes.
#ifndef RF_MESH_TOUCHING_H
#define RF_MESH_TOUCHING_H

#include "base/run.h"
#include "mesh/mesh.h"

// Creates a list of pairs of elements (count, 2): the middle of a face of the first, or a point
// near one of its corners, lies on a face of the second that looks the other way; no constraints
// join them, of all nodes of one face or of those that do not hang over the other.  The caller
// frees it.  run: polled for a stop.
RF_MUST_CHECK rf_status rf_mesh_find_touching(const rf_mesh *mesh, const rf_run *run,
                                              int32_t *count, int32_t **pairs, rf_error *err);

#endif
