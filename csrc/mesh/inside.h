// Classifies points of a lattice as inside or outside of any surface: inside means that the winding
// number of its outward-facing parts exceeds 1/2 (mesh/winding.h).
//
// Most points need no query of their own.  Off the surface the gradient of w is the field of a
// current along the border (Biot-Savart): for border edges of lengths l_i at distances of at least
// d_i it is at most sum l_i / (4 pi d_i^2). Winding numbers of points connected by a path off the
// surface thus differ by at most that times the length of the path; for a closed surface, without
// border, they are equal.
#ifndef RF_MESH_INSIDE_H
#define RF_MESH_INSIDE_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"
#include "mesh/winding.h"

// Winding numbers between these two leave the side of the surface in doubt.
#define RF_INSIDE_LOW 0.1
#define RF_INSIDE_HIGH 0.9

typedef struct rf_inside rf_inside;

// Prepares queries on a surface that has passed rf_surface_check; it is not needed afterwards.
RF_MUST_CHECK rf_status rf_inside_create(const rf_surface *surface, const rf_run *run,
                                         rf_inside **out, rf_error *err);
void rf_inside_free(rf_inside *in);  // NULL is allowed

const rf_winding *rf_inside_winding(const rf_inside *in);

// Returns the share of the surface's area that encloses nothing: single sheets.
double rf_inside_sheets(const rf_inside *in);

// Returns an upper bound of |grad w| in a box, off the surface, 1/m; 0: no border.
double rf_inside_slope(const rf_inside *in, const double low[3], const double high[3]);

enum { RF_INSIDE_BLOCK = 8, RF_INSIDE_POINTS = 512 };

// 8 x 8 x 8 points of a lattice: bit x + 8 y of word z.
typedef struct rf_inside_block {
  double origin[3], step[3];  // first point; spacing, m
  uint64_t ask[8];            // points to classify
  uint64_t open[8];    // subset of `ask`: points that the surface does not separate from their
                       // neighbours in `open`
  uint64_t inside[8];  // result
  float winding[RF_INSIDE_POINTS];  // result, for points in `ask`; may come from a nearby point on
                                    // the same side
} rf_inside_block;

// Classifies the points of a block.  Any number of threads may call at once.
void rf_inside_decide(const rf_inside *in, rf_inside_block *block);

// Counts the classified points whose winding numbers leave doubt, by `winding`.
int rf_inside_doubts(const rf_inside_block *block);

#endif
