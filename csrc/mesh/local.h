// Local coordinates of a point in an element, and the shape functions there.
//
// Local coordinates are those of mesh/reference.h.  Arrays of nodes are (RF_MAX_NODES, 3), used as
// far as the element has nodes.  Four-node tets have closed forms; functions with a type argument
// are for the other elements.
#ifndef RF_MESH_LOCAL_H
#define RF_MESH_LOCAL_H

#include <stdbool.h>

#include "mesh/mesh.h"

// Computes the barycentric coordinates w (4) of p; also outside.
void rf_tet_weights(const double x[RF_MAX_NODES][3], const double *p, double *w);

// Shape functions, their local derivatives, the mapped point and the rows dx/dxi_k of J.
typedef struct rf_local {
  double n[RF_MAX_NODES], dn[RF_MAX_NODES][3], place[3], j[3][3];
} rf_local;
void rf_local_map(rf_element_type type, const double x[RF_MAX_NODES][3], const double *xi,
                  rf_local *at);
// True if the middles of all edges are where straight edges have them.
bool rf_local_straight(rf_element_type type, const double x[RF_MAX_NODES][3]);
// Computes the inverse transposed of j; false when singular.
bool rf_local_invert(const double j[3][3], double out[3][3]);

// Finds the local coordinates of p by Newton's method from the centre, then from other starts if
// that fails inside a hex, or ends outside a curved element (by the margin of rf_local_inside).
// False on failure; xi is then the last iterate.
bool rf_local_find(rf_element_type type, const double x[RF_MAX_NODES][3], const double *p,
                   double margin, double xi[3]);

// True in the element or at most `margin`, a share of its size, outside it.
bool rf_local_inside(rf_element_type type, const double xi[3], double margin);

// Computes the weights w of the nodes at xi, extrapolated linearly from there to p.
void rf_local_weights(rf_element_type type, const double x[RF_MAX_NODES][3], const double *xi,
                      const double *p, double *w);

// Computes the gradients (nodes, 3) of these weights with respect to p: of a tet, and of an element
// around xi; zero where the element has no volume.
void rf_tet_gradients(const double x[RF_MAX_NODES][3], double gradient[RF_MAX_NODES][3]);
void rf_local_gradients(rf_element_type type, const double x[RF_MAX_NODES][3], const double *xi,
                        double gradient[RF_MAX_NODES][3]);

#endif
