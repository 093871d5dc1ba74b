// The places of elements and triangles that are nearest to a point outside.
#ifndef RF_MESH_NEAREST_H
#define RF_MESH_NEAREST_H

#include "mesh/mesh.h"

// Sets xi to the local coordinates of the place of the surface of a hex or a tet of ten nodes
// that is nearest to p; returns the distance.  For hexes, and p inside as well, xi is the start.
double rf_element_nearest(rf_element_type type, const double x[RF_MAX_NODES][3], const double *p,
                          double xi[3]);

// Place on the triangle nearest to p: on its plane when the foot falls inside, else on the
// nearest edge.
void rf_triangle_nearest(const double t[3][3], const double *p, double *out);

#endif
