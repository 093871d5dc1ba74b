// Cutting a mesh into slabs, each block in one piece.
#ifndef RF_MESH_SLABS_H
#define RF_MESH_SLABS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"

// Sets the connected piece of each element within those of its label, 0 <= label < n_labels, as
// rf_mesh_components does; constrained nodes do not count.
RF_MUST_CHECK rf_status rf_mesh_pieces(const rf_mesh *mesh, const int32_t *label, int32_t n_labels,
                                       bool by_face, int32_t *piece, int32_t *count, rf_error *err);

// Sets the block of each element: pieces by faces of `number` slabs of equal length along the
// longest side of the bounding box.  Pieces below the part `small` of the largest of their slab
// join the block with which they share most nodes, and that may be through others of them; if there
// is none, the largest becomes a block.  RF_ERR_ARG: a slab has no element.
RF_MUST_CHECK rf_status rf_mesh_slabs(const rf_mesh *mesh, int32_t number, double small,
                                      int32_t *block, rf_error *err);

#endif
