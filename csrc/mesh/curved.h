// Bounds on the Jacobian, and volumes, of second-order elements, whose edges may be curved.
//
// Ten-node tets: the map is quadratic, so its Jacobian matrix J is linear in the barycentric
// coordinates, and det J is a cubic whose Bernstein coefficients are means of determinants of rows
// of J at the corners.  Hexes of 20 nodes: det J is of degree five in each coordinate; its values
// at 6^3 points give the Bernstein coefficients.  det J lies between the smallest and the largest
// coefficient.
#ifndef RF_MESH_CURVED_H
#define RF_MESH_CURVED_H

// Returns a lower bound of det J over the element with nodes x, times the volume of the reference
// element (1/6, or 8), m^3; NaN on overflow.  The element is bisected while the bound is not above
// `least`, so a bound that stays below belongs to an element that folds over or nearly does.
double rf_tet10_jacobian(const double x[10][3], double least);
double rf_hex20_jacobian(const double x[20][3], double least);

double rf_tet10_volume(const double x[10][3]);
double rf_hex20_volume(const double x[20][3]);

#endif
