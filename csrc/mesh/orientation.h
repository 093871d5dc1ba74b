// Selects the triangles of a surface to reverse so that its parts face outward.
//
// A part is a set of triangles connected through edges shared by two of them.  Within a part the
// two triangles of an edge run along it in opposite directions, as far as possible (not on a
// Moebius strip); of the two senses the part keeps that of the larger area.
//
// A closed part faces outward when its volume is positive, an open one when its own winding
// numbers, midway between both sides of its triangles, are positive: 1/2 for a closed part, 0 for a
// flat one.  Nearly flat parts keep their sense.
//
// A closed part that faces inward keeps its sense if it bounds a cavity, that is, if the
// surrounding parts have winding number one there.  Parts within a reversed part are reversed with
// it.
#ifndef RF_MESH_ORIENTATION_H
#define RF_MESH_ORIENTATION_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"

// Sets `reversed` (n_triangles) to 1 for triangles to reverse, else 0. The surface must have passed
// rf_surface_check.  run: polled for a stop.
RF_MUST_CHECK rf_status rf_orientation_find(const rf_surface *surface, const rf_run *run,
                                            uint8_t *reversed, rf_error *err);

#endif
