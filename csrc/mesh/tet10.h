// Tetrahedra of ten nodes: where they fold over, their volume, the edges of a mesh of them.
//
// The map of such an element is quadratic, so its Jacobian matrix J is linear in the barycentric
// coordinates and det J a cubic whose Bernstein coefficients are means of determinants of rows of
// J at the corners.  det J lies between the least and the greatest of them.
#ifndef RF_MESH_TET10_H
#define RF_MESH_TET10_H

#include "base/status.h"
#include "mesh/mesh.h"

// A sixth of a lower bound of det J over the element with nodes x, m^3; NaN where it overflows.
// Parts of the element are looked at where the bound of the whole is not above `least`, so it is
// not above only for elements that fold over or come very near to it.
double rf_tet10_jacobian(const double x[10][3], double least);
double rf_tet10_volume(const double x[10][3]);

// RF_ERR_MESH unless every edge has one mid-edge node, and that node no other place.
RF_MUST_CHECK rf_status rf_tet10_check_edges(const rf_mesh *mesh, rf_error *err);

// A mesh of ten-node tets from one of four-node tets: its nodes, then the middles of the edges
// in the order of their ends.  RF_ERR_ARG for other elements, RF_ERR_MESH where rounding of the
// middles leaves nothing of an element.
RF_MUST_CHECK rf_status rf_mesh_quadratic(const rf_mesh *mesh, rf_mesh **out, rf_error *err);

#endif
