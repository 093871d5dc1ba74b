// Points spread evenly over a level set of a distance field, or over a triangle surface, level by
// level, by repulsion (B07 3.8.1).
//
// The points of a level are drawn from a triangulation of the level set, or from the surface,
// stratified by area;
// of the candidates for all points so far those nearest to the points of earlier levels, which
// stay where they are, are left out.  Points closer than R repel each other with a force of
// 2 t^3 - 3 t^2 + 1, t = distance / R, unless they are on different sides of a thin part.  In
// each round every point moves at once, along the surface, by its force over its stiffness, and
// back to the level set by Newton's method, with bisection where that fails, or to the nearest
// place of the surface that faces the same side, with the pseudonormal there; a point that comes
// to no good end waits for the next round.  R is RF_REPULSION_REACH times the distance between
// neighbours in the ideal, hexagonal arrangement of that many points on that area, so it about
// halves from level to level; nothing is left to be tuned.  A level is done when its points move
// by less than `still` of that distance (root mean square), or after `rounds` rounds.
//
// The result depends on the seed only, not on the number of threads.
#ifndef RF_POINTSHELL_REPULSION_H
#define RF_POINTSHELL_REPULSION_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/closest.h"
#include "pointshell/sample.h"
#include "sdf/field.h"

#define RF_REPULSION_REACH 2.0

enum { RF_SHELL_MAX_LEVELS = 15 };

typedef struct rf_repulsion_settings {
  int32_t points;    // of all levels
  int32_t levels;    // 1 to RF_SHELL_MAX_LEVELS, each with four times as many points
  uint64_t seed;     // of what is drawn
  double level_set;  // value of the field, m
  int32_t rounds;    // at most so many, a level
  double still;      // motion that ends a level, in distances between neighbours
} rf_repulsion_settings;

// Points of levels 0 .. k in counts[k], 1 <= levels <= RF_SHELL_MAX_LEVELS; the last is `points`.
// RF_ERR_ARG when a level would be without points.
RF_MUST_CHECK rf_status rf_repulsion_counts(int32_t points, int32_t levels, int32_t *counts,
                                            rf_error *err);

typedef struct rf_repulsion_report {
  int32_t rounds[RF_SHELL_MAX_LEVELS];  // of each level
  double motion[RF_SHELL_MAX_LEVELS];   // in the last of them, in distances between neighbours
  int32_t redrawn;                      // points drawn again as they found no way to the level set
} rf_repulsion_report;

// Distance between neighbours in the hexagonal arrangement of n points on an area, m.
double rf_hexagonal_spacing(double area, double n);

// points (points, 3), sorted by level, and the unit normals of the level set there, inwards
// (points, 3).  `sampler`: of a triangulation of the level set; without a field (NULL) the points
// lie on its surface itself, which faces outwards.
RF_MUST_CHECK rf_status rf_repulsion(const rf_field *field, const rf_sampler *sampler,
                                     const rf_repulsion_settings *set, const rf_run *run,
                                     double *points, double *normals, rf_repulsion_report *report,
                                     rf_error *err);

#endif
