// Points of elements and triangles nearest to a given point.
#ifndef RF_MESH_NEAREST_H
#define RF_MESH_NEAREST_H

#include "mesh/mesh.h"

// Sets xi to the local coordinates of the surface point of a hex or ten-node tet nearest to p;
// returns the distance.  For hexes xi is the start on entry, and p inside is its own nearest point.
double rf_element_nearest(rf_element_type type, const double x[RF_MAX_NODES][3], const double *p,
                          double xi[3]);

// Finds the point of the triangle nearest to p: its projection if inside, else on the nearest edge.
void rf_triangle_nearest(const double t[3][3], const double *p, double *out);

#endif
