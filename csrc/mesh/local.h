// Where a point lies in an element, and the nearest place of elements and triangles.
//
// Local coordinates of hexahedra are those of mesh/reference.h.  Arrays of corners are (8, 3),
// of which tets use the first four.
#ifndef RF_MESH_LOCAL_H
#define RF_MESH_LOCAL_H

#include <stdbool.h>

// Weights w (4) of the corners that give p: barycentric coordinates, outside too.
void rf_tet_weights(const double x[8][3], const double *p, double *w);

// Local coordinates of p: from the centre, and where that gets stuck inside the element, from
// the directions of its corners.  False when stuck outside, where nothing is to be found; xi
// is then the last iterate.
bool rf_hex_local(const double x[8][3], const double *p, double xi[3]);

// Moves xi to the place of the element nearest to p, from a start near it: Gauss-Newton on
// those coordinates that are not held at a face of the cube.  Returns the distance.
double rf_hex_nearest(const double x[8][3], const double *p, double xi[3]);

// Weights w (8) at xi, extrapolated linearly from there to p.
void rf_hex_weights(const double x[8][3], const double *xi, const double *p, double *w);

// Gradients (4, 3) and (8, 3) of these weights by p: of a tet, and of a hex near the place xi;
// zero where the element has no volume.
void rf_tet_gradients(const double x[8][3], double gradient[8][3]);
void rf_hex_gradients(const double x[8][3], const double *xi, double gradient[8][3]);

// Place on the triangle nearest to p: on its plane when the foot falls inside, else on the
// nearest edge.
void rf_triangle_nearest(const double t[3][3], const double *p, double *out);

#endif
