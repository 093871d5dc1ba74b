// The part of a cube that a surface encloses, as filled fractions of RF_CUT_SUB^3 equal sub-cells.
//
// A sub-cell that the surface may cut counts with the part of it on the inner side of the plane
// through the nearest place of the surface, normal to the way there (Scardovelli & Zaleski 2000
// give the volume in closed form): exact for planes, second order for curved surfaces.  Inside is a
// winding number above one half, asked once for all centres that balls free of the surface connect,
// and one by one near holes.  Triangles that do not separate inside from outside, where parts
// overlap, cut nothing.
#ifndef RF_MESH_CUT_CELL_H
#define RF_MESH_CUT_CELL_H

#include <stdbool.h>

#include "mesh/closest.h"
#include "mesh/cubature.h"
#include "mesh/winding.h"

// False where no triangle comes near the cube with this centre and edge, m; `fraction` (z, y, x) is
// left alone then.
bool rf_cut_fractions(const rf_closest *closest, const rf_winding *winding, const double centre[3],
                      double edge, double fraction[RF_CUT_SUBS]);

// The part of the cube of edge 1 around the origin where n . y < d, n of length 1.
double rf_cube_below(const double n[3], double d);

#endif
