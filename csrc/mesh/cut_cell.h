// Part of a cube enclosed by a surface, as filled fractions of RF_CUT_SUB^3 equal sub-cells.
//
// A sub-cell that the surface may cut counts with its part on the inner side of the plane through
// the nearest point of the surface, perpendicular to the vector to it (volume in closed form by
// Scardovelli & Zaleski 2000): exact for planes, second order for curved surfaces.  A point is
// inside if its winding number exceeds one half; this is evaluated once for all centres connected
// by surface-free balls, and separately for each centre near holes.  Triangles with inside on both
// sides, where parts overlap, cut nothing.
#ifndef RF_MESH_CUT_CELL_H
#define RF_MESH_CUT_CELL_H

#include <stdbool.h>

#include "mesh/closest.h"
#include "mesh/cubature.h"
#include "mesh/winding.h"

// Computes fractions (z, y, x) for the cube with this centre and edge, m.  False if no triangle
// comes near the cube; `fraction` is then unchanged.
bool rf_cut_fractions(const rf_closest *closest, const rf_winding *winding, const double centre[3],
                      double edge, double fraction[RF_CUT_SUBS]);

// Returns the volume of the part n . y < d of the cube of edge 1 around the origin, |n| = 1.
double rf_cube_below(const double n[3], double d);

#endif
