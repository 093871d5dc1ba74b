// Elements of second order, whose edges may be curved: a bound of their Jacobian, their volume.
//
// Ten-node tets: the map is quadratic, so its Jacobian matrix J is linear in the barycentric
// coordinates and det J a cubic whose Bernstein coefficients are means of determinants of rows of
// J at the corners.  Hexes of 20 nodes: det J is of degree five in each coordinate and determined
// by its values at 6^3 places, which give the Bernstein coefficients.  det J lies between the
// least and the greatest of them.
#ifndef RF_MESH_CURVED_H
#define RF_MESH_CURVED_H

// A lower bound of det J over the element with nodes x, times the volume of the reference element
// (a sixth, or 8), m^3; NaN where it overflows.  Elements are bisected where the bound of the
// whole is not above `least`, so it is not above only for elements that fold over or come very
// near to it.
double rf_tet10_jacobian(const double x[10][3], double least);
double rf_hex20_jacobian(const double x[20][3], double least);

double rf_tet10_volume(const double x[10][3]);
double rf_hex20_volume(const double x[20][3]);

#endif
