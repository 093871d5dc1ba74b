// Points embedded in a mesh: x(p) = sum_a w_a x_a over the nodes of one element.
//
// Inside an element the weights are its shape functions (tets: barycentric coordinates; hexes and
// ten-node tets: at local coordinates found by Newton's method). A point outside all elements
// belongs to the element of the nearest boundary triangle (faces of hexes are cut in two, of
// ten-node tets in four):
//   tets: barycentric coordinates, some of them negative;
//   others: first-order extrapolation w_a = N_a(xi) + grad N_a(xi) . (p - x(xi)) from the point
//   xi of the element nearest to p, as shape functions grow faster than linearly outside.
// Either way the weights sum to 1 and reproduce every linear field exactly, so rigid motions stay
// rigid everywhere.
//
// A point on a shared face belongs to the lowest element; results do not depend on threads.
#ifndef RF_MESH_EMBED_H
#define RF_MESH_EMBED_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"

typedef struct rf_embedding {
  int32_t n_points, n_nodes, corners;  // corners: nodes of an element
  int32_t *element;                    // element of each point            (n_points)
  int32_t *node;                       // nodes of that element            (n_points, corners)
  double *weight;                      // weight of each node              (n_points, corners)
  double *distance;                    // distance to the mesh, m; 0: inside  (n_points)
} rf_embedding;

RF_MUST_CHECK rf_status rf_embedding_create(const rf_mesh *mesh, int32_t n_points,
                                            const double *points, const rf_run *run,
                                            rf_embedding **out, rf_error *err);
void rf_embedding_free(rf_embedding *embedding);  // NULL is allowed

// Computes the gradients of the weights with respect to the point, 1/m (n_points, corners, 3):
// sum_a u_a (x) g_a is the displacement gradient at the point, or at the nearest point of the mesh.
// mesh and points must be those of the embedding.
RF_MUST_CHECK rf_status rf_embedding_gradients(const rf_embedding *embedding, const rf_mesh *mesh,
                                               const double *points, const rf_run *run,
                                               double *gradients, rf_error *err);

// Interpolates fields on nodes (n_fields, n_nodes, 3) to points (n_fields, n_points, 3).
RF_MUST_CHECK rf_status rf_embedding_interpolate(const rf_embedding *embedding, const rf_run *run,
                                                 int32_t n_fields, const double *nodes,
                                                 double *points, rf_error *err);
// The transpose: maps forces at points to forces at nodes that do the same work.
void rf_embedding_distribute(const rf_embedding *embedding, const double *points, double *nodes);

#endif
