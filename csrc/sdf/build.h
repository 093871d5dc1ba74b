// Distance fields of triangle surfaces.
//
// Closed surfaces are processed directly: near the surface the sign is that of the pseudonormal
// (mesh/closest.h), and from there it is carried along the rows of samples: two neighbours have the
// same sign if their distances add up to more than the spacing, as no surface can lie in between.
// A closed surface that crosses itself bounds no solid; crossings are found exactly
// (mesh/crossings.h). Parts that face different ways show up as contradictory signs.  In both
// cases, and where parts touch, signs come from winding numbers: inside is where the surface winds
// around, in either sense, and distances there are those from its boundary, without walls hidden
// inside overlapping parts (build_union.h).
//
// Before all that, triangles that face another way than their neighbours, and parts that face
// another way than the others, are reversed (mesh/orientation.h).
//
// Open surfaces that nevertheless have an inside, where their winding numbers exceed 1/2: distances
// from the surface and from a cap over its holes (build_open.h).
//
// Other polygon soups are offset (B07 3.6): unsigned distances, their iso-surface at the offset
// without its parts inside others, then signed distances from that surface.
//
// Either all distances are exact, or only those up to a band around the surface; the others are
// interpolated from exact ones at every RF_FAST_STEP-th sample (build_fill.h).  With H the diagonal
// of such a coarse cell their error is below H / 2, as distances change by at most the displacement
// (field_rt.c); and as the curvature of distances at distance d is at most 1 / d downwards, they
// are too large by at most H^2 / (8 d).
#ifndef RF_SDF_BUILD_H
#define RF_SDF_BUILD_H

#include "base/status.h"
#include "mesh/surface.h"
#include "sdf/build_fill.h"
#include "sdf/field.h"

enum { RF_FAST_BAND = 8 };  // in spacings; distances up to this are always exact

#define RF_SOUP_OFFSET 1.4   // spacings
#define RF_UNION_PIECE 0.25  // spacings; see build_union.h
#define RF_UNION_GAP 1e-3    // spacings

typedef struct rf_field_settings {
  int32_t resolution[3];   // voxels along x, y, z
  bool fitted;             // the box is a cube around the surface, `expand` times its longest side
  double expand;           // 1 or more
  double low[3], high[3];  // corners of the box if not fitted, m
  bool automatic;          // direct if the surface has an inside, else an offset of RF_SOUP_OFFSET
  double offset;           // if not automatic: 0: direct; positive: offset, m
  bool exact;              // compute all distances exactly
  double memory;           // limit of memory, bytes; 0: none
  rf_fill_fn *elsewhere;   // workers that compute the distances; NULL: this process
  void *elsewhere_context;
} rf_field_settings;

typedef struct rf_field_report {
  bool closed;         // the surface encloses a volume
  bool turned;         // the surface faces inwards
  bool crossing;       // signs are those of winding numbers
  double offset;       // offset used, m
  int32_t n_removed;   // removed parts of the iso-surface inside others
  double band;         // distances up to which samples are exact, m
  double error;        // largest error of samples, m
  int32_t n_hidden;    // triangles hidden inside others, wholly or in part
  double depth_error;  // further error of inner samples near hidden triangles, or along rims, m
  bool capped;         // the surface is open; inside is where its winding number exceeds 1/2
  int32_t n_cap;       // triangles of the cap over its holes
  int64_t n_inside, n_doubtful;  // samples of a capped surface; see mesh/inside.h
  double sheets;                 // share of area that encloses nothing, of an open surface
} rf_field_report;

RF_MUST_CHECK rf_status rf_grid_from_surface(const rf_surface *surface,
                                             const rf_field_settings *settings, const rf_run *run,
                                             rf_grid **out, rf_field_report *report, rf_error *err);

#endif
