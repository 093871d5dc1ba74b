// Distance fields of triangle surfaces.
//
// Closed surfaces directly: near the surface the sign is that of the pseudonormal (mesh/closest.h),
// and from there it is carried along the rows of samples: two neighbours have the same sign where
// their distances add up to more than the way between them, for then no surface is in between.
// A closed surface that crosses itself bounds no solid: whether it does is found exactly
// (mesh/crossings.h).  Where parts face different ways, the signs contradict each other somewhere.
// Signs are then those of winding numbers, as where parts touch: inside is what the surface winds
// around, in whichever sense, and the distances there are those from its boundary: walls hidden
// inside (of parts that overlap) do not count (build_union.h).
//
// Before all that, triangles that face another way than their neighbours, and parts that face
// another way than the others, are turned (mesh/orientation.h).
//
// Open surfaces that have an inside nevertheless, where their winding numbers are above 1/2:
// distances from the surface and from what caps its holes (build_open.h).
//
// Other polygon soups by way of an offset (B07 3.6): distances without sign, their iso-surface at
// the offset, of which parts inside others are left out, then the signed distances from that.
//
// All distances are exact; or those up to a band about the surface, and the others interpolated
// from exact ones at every RF_FAST_STEP-th sample.  With H the diagonal of such a coarse cell they
// are off by less than H / 2, as distances change by no more than the way (field_rt.c); and as at a
// distance d they are curved by no more than 1 / d downwards, they are too large by no more than
// H^2 / (8 d).
#ifndef RF_SDF_BUILD_H
#define RF_SDF_BUILD_H

#include "base/status.h"
#include "mesh/surface.h"
#include "sdf/field.h"

enum {
  RF_FAST_STEP = 4,  // samples
  RF_FAST_BAND = 8   // spacings: distances up to here are exact in any case
};

#define RF_SOUP_OFFSET 1.4   // spacings
#define RF_UNION_PIECE 0.25  // spacings; see build_union.h
#define RF_UNION_GAP 1e-3    // spacings

typedef struct rf_field_settings {
  int32_t resolution[3];  // voxels along x, y, z
  bool fitted;    // the box is the cube about the surface's, `expand` times its longest side
  double expand;  // 1 or more
  double low[3], high[3];  // corners of the box, unless fitted, m
  bool automatic;          // direct where the surface has an inside, else RF_SOUP_OFFSET
  double offset;           // otherwise: 0: direct, positive: this one, m
  bool exact;              // everywhere
  double memory;           // that may be used, bytes; 0: any
} rf_field_settings;

typedef struct rf_field_report {
  bool closed;         // the surface encloses a volume
  bool turned;         // it faces inwards
  bool crossing;       // its signs are those of winding numbers
  double offset;       // that was taken, m
  int32_t n_removed;   // parts of the iso-surface inside others
  double band;         // distances up to which samples are exact, m
  double error;        // of samples, at most, m
  int32_t n_hidden;    // triangles hidden inside others, wholly or in part; 0 unless it crosses
  double depth_error;  // further, of samples inside where some are hidden, or along rims, m
  bool capped;         // the surface is open, inside is where it winds more than half
  int32_t n_cap;       // triangles that cap its holes
  int64_t n_inside, n_doubtful;  // samples, if so; see mesh/inside.h
  double sheets;                 // share of the area that has nothing behind it, if so
} rf_field_report;

RF_MUST_CHECK rf_status rf_grid_from_surface(const rf_surface *surface,
                                             const rf_field_settings *settings, const rf_run *run,
                                             rf_grid **out, rf_field_report *report, rf_error *err);

#endif
