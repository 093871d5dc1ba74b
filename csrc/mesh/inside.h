// Classifies points of a lattice as inside or outside of any surface: inside is where the winding
// number of its outward-facing parts is above 1/2 (mesh/winding.h).
//
// Most points need no query of their own.  Off the surface the gradient of w is the field of a
// current along its border (Biot-Savart): for border edges of lengths l_i at distances d_i or more
// it is at most sum l_i / (4 pi d_i^2).  Winding numbers of points connected by a path off the
// surface thus differ by at most that times the length of the path; a closed surface has no
// border, and they are equal.
#ifndef RF_MESH_INSIDE_H
#define RF_MESH_INSIDE_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"
#include "mesh/winding.h"

// winding numbers between these two leave in doubt on which side of the surface a point is
#define RF_INSIDE_LOW 0.1
#define RF_INSIDE_HIGH 0.9

typedef struct rf_inside rf_inside;

// The surface must have passed rf_surface_check; it is not needed afterwards.
RF_MUST_CHECK rf_status rf_inside_create(const rf_surface *surface, const rf_run *run,
                                         rf_inside **out, rf_error *err);
void rf_inside_free(rf_inside *in);  // NULL is fine

const rf_winding *rf_inside_winding(const rf_inside *in);

// Share of the surface's area that has no inside on its inner side: single sheets.
double rf_inside_sheets(const rf_inside *in);

// Upper bound of the length of the gradient of w in a box, off the surface, 1/m; 0: the surface has
// no border.
double rf_inside_slope(const rf_inside *in, const double low[3], const double high[3]);

enum { RF_INSIDE_BLOCK = 8, RF_INSIDE_POINTS = 512 };

// 8 x 8 x 8 points of a lattice: bit x + 8 y of word z.
typedef struct rf_inside_block {
  double origin[3], step[3];  // place of the first point; from point to point, m
  uint64_t ask[8];            // points to decide
  uint64_t open[8];           // those of them that the surface does not separate from neighbours
                              // that are in here too
  uint64_t inside[8];         // out
  float winding[RF_INSIDE_POINTS];  // out, of points to decide; of some one nearby on the same side
} rf_inside_block;

// Decides the points of a block.  Any number of threads may ask at once.
void rf_inside_decide(const rf_inside *in, rf_inside_block *block);

// Number of points to decide whose winding numbers are in doubt, by those in `winding`.
int rf_inside_doubts(const rf_inside_block *block);

#endif
