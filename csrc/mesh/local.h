// Local coordinates of a point in an element, and the shape functions there.
//
// Local coordinates are those of mesh/reference.h.  Arrays of nodes are (RF_MAX_NODES, 3), of
// which an element uses as many as it has.  Tets of four nodes have closed forms; functions
// that take a type are for the other elements.
#ifndef RF_MESH_LOCAL_H
#define RF_MESH_LOCAL_H

#include <stdbool.h>

#include "mesh/mesh.h"

// Weights w (4) of the corners that give p: barycentric coordinates, outside too.
void rf_tet_weights(const double x[RF_MAX_NODES][3], const double *p, double *w);

// Shape functions, their local derivatives, the place they give and the rows dx/dxi_k of J.
typedef struct rf_local {
  double n[RF_MAX_NODES], dn[RF_MAX_NODES][3], place[3], j[3][3];
} rf_local;
void rf_local_map(rf_element_type type, const double x[RF_MAX_NODES][3], const double *xi,
                  rf_local *at);
// The middles of all edges are where straight edges have them.
bool rf_local_straight(rf_element_type type, const double x[RF_MAX_NODES][3]);
// Columns of the inverse transpose of the rows j; false when singular.
bool rf_local_invert(const double j[3][3], double out[3][3]);

// Local coordinates of p: from the centre, and from elsewhere in a hex where that gets stuck
// inside it, in a curved element where that does not end inside (by the margin of rf_local_inside).
// False when stuck outside, where nothing is to be found; xi is then an iterate.
bool rf_local_find(rf_element_type type, const double x[RF_MAX_NODES][3], const double *p,
                   double margin, double xi[3]);

// In the element or beyond it by no more than a share of its size.
bool rf_local_inside(rf_element_type type, const double xi[3], double margin);

// Weights w of the nodes at xi, extrapolated linearly from there to p.
void rf_local_weights(rf_element_type type, const double x[RF_MAX_NODES][3], const double *xi,
                      const double *p, double *w);

// Gradients (nodes, 3) of these weights by p: of a tet, and of an element near the place xi;
// zero where the element has no volume.
void rf_tet_gradients(const double x[RF_MAX_NODES][3], double gradient[RF_MAX_NODES][3]);
void rf_local_gradients(rf_element_type type, const double x[RF_MAX_NODES][3], const double *xi,
                        double gradient[RF_MAX_NODES][3]);

#endif
