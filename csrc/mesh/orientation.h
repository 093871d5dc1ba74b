// Selects the triangles of a surface to reverse so that its parts face outward.
//
// A part is a set of triangles connected through edges that two of them share.  Within a part the
// two triangles of an edge run along it in opposite directions, as far as that is possible (it is
// not on a Moebius strip); of the two senses the part keeps that of the larger area.
//
// A closed part faces outward when its volume is positive, an open one when the winding numbers of
// the part alone, in the middle between both sides of its triangles, are positive: 1/2 for
// a closed part, 0 for a flat one.  Parts that are nearly flat keep their sense.
//
// A closed part that faces inward stays so where it bounds a cavity: where the parts around it wind
// once.  The parts within another that faces inward are reversed with it.
#ifndef RF_MESH_ORIENTATION_H
#define RF_MESH_ORIENTATION_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

// reversed: 1 for triangles to reverse, else 0 (n_triangles).  The surface must have passed
// rf_surface_check.  run: polled for a stop.
RF_MUST_CHECK rf_status rf_orientation_find(const rf_surface *surface, const rf_run *run,
                                            uint8_t *reversed, rf_error *err);

#endif
