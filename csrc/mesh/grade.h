// Graded meshes: equal cubes, merged to larger ones away from the surface.
//
// A block of 2x2x2 equal cells becomes one cell if it and all cells of the ring around it exist and
// have the same size; of the smallest cells, `layers` rings.  So cells at the surface keep their
// size, and cells that share a face, an edge or a corner differ by one level at most.  Blocks are
// aligned to the lowest corner of the mesh.  Cells of one block have one region.  Cut cells
// (mesh/cut.h) stay as they are, and count as missing: rings have whole cells only, so that cut
// cells have neighbours of their own size.
//
// Nodes in the middle of an edge or of a face of a larger cell are constrained to its ends or
// corners (mesh/constraints.h); where both apply, the edge decides.  Masters are then never
// constrained themselves.
#ifndef RF_MESH_GRADE_H
#define RF_MESH_GRADE_H

#include "base/run.h"
#include "mesh/mesh.h"

enum { RF_GRADE_MAX_LEVEL = 20 };

typedef struct rf_grade_settings {
  int32_t layers;     // rings of smallest cells around a block that merges, at least 1
  int32_t max_level;  // of the largest cells, whose edge is 2^level cubes; 0: nothing merges
} rf_grade_settings;

// Creates the graded mesh of equal cubes parallel to the axes; RF_ERR_MESH names an element of
// another shape.  Nodes and elements keep their order: `original` (nullable) are the nodes of
// `cubes`, an array that the caller frees.
RF_MUST_CHECK rf_status rf_mesh_grade(const rf_mesh *cubes, const rf_grade_settings *set,
                                      const rf_run *run, rf_mesh **out, int32_t **original,
                                      rf_error *err);

// Computes the level of each element of a mesh with constrained nodes (n_elements): the binary
// logarithm of its size over that of the smallest, to an integer.  All zero without constraints.
void rf_mesh_levels(const rf_mesh *mesh, int32_t *levels);

#endif
