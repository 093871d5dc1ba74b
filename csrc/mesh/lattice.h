// Lattice of a mesh of equal cubes parallel to the axes: the cube and the node at each place.
#ifndef RF_MESH_LATTICE_H
#define RF_MESH_LATTICE_H

#include "mesh/mesh.h"

typedef struct rf_lattice {
  const rf_mesh *cubes;  // borrowed
  double low[3], h;      // lowest corner of the mesh, edge of the cubes, m
  int32_t n[3];          // cubes along each axis of the box
  int32_t *place;        // of each cube                  (cubes->n_elements)
  int32_t *element;      // cube at each place, -1: none    (n[2], n[1], n[0])
  int32_t *node;  // node at each place of the nodes, -1: none  (n[2] + 1, n[1] + 1, n[0] + 1)
} rf_lattice;

// Corners of a cell in VTK's order, as steps along x, y, z.
extern const int RF_LATTICE_CORNER[8][3];

// Finds the lattice; RF_ERR_MESH names an element of another shape, or the box if it has too many
// places for its cubes.  To be released also after a failure.
RF_MUST_CHECK rf_status rf_lattice_create(const rf_mesh *cubes, rf_lattice *out, rf_error *err);
void rf_lattice_release(rf_lattice *lattice);

static inline int64_t rf_lattice_place(const int32_t n[3], int64_t i, int64_t j, int64_t k) {
  return (k * n[1] + j) * n[0] + i;
}

// Returns the node at a place of the nodes; -1: there is none.
static inline int32_t rf_lattice_node(const rf_lattice *g, const int32_t p[3]) {
  const int32_t nodes[3] = {g->n[0] + 1, g->n[1] + 1, g->n[2] + 1};
  return g->node[rf_lattice_place(nodes, p[0], p[1], p[2])];
}

#endif
