// Points distributed evenly over a level set of a distance field, or over a triangle surface, level
// by level, by repulsion (B07 3.8.1).
//
// The points of a level are drawn from a triangulation of the level set, or from the surface,
// stratified by area: as many candidates as all points so far, less those nearest to the points of
// earlier levels, which do not move any more.  Points closer than R repel each other with a force
// of 2 t^3 - 3 t^2 + 1, t = distance / R, unless they are on different sides of a thin part.  In
// each round all points move simultaneously, along the surface, by force over stiffness, and back
// to the level set by Newton's method, with bisection on failure, or to the nearest point of the
// surface that faces the same side, with the pseudonormal there; a point whose move fails waits for
// the next round.  R is RF_REPULSION_REACH times the distance between neighbours in the ideal
// hexagonal arrangement of as many points on that area, so it roughly halves from level to level
// and needs no tuning.  A level is finished when its points move by less than `still` of that
// distance (root mean square), or after `rounds` rounds.
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
  int32_t points;    // total of all levels
  int32_t levels;    // 1 to RF_SHELL_MAX_LEVELS, each with four times as many points
  uint64_t seed;     // seed of the drawing
  double level_set;  // value of the field on the level set, m
  int32_t rounds;    // limit per level
  double still;      // motion that finishes a level, in distances between neighbours
} rf_repulsion_settings;

// Computes counts[k], the number of points on levels 0 .. k, 1 <= levels <= RF_SHELL_MAX_LEVELS;
// the last is `points`. RF_ERR_ARG when a level would be empty.
RF_MUST_CHECK rf_status rf_repulsion_counts(int32_t points, int32_t levels, int32_t *counts,
                                            rf_error *err);

typedef struct rf_repulsion_report {
  int32_t rounds[RF_SHELL_MAX_LEVELS];  // of each level
  double motion[RF_SHELL_MAX_LEVELS];   // motion in the last round of each level, in distances
                                        // between neighbours
  int32_t redrawn;  // points drawn again because they did not reach the level set
} rf_repulsion_report;

// Returns the distance between neighbours in the hexagonal arrangement of n points on an area, m.
double rf_hexagonal_spacing(double area, double n);

// Computes points (points, 3), sorted by level, and the inward unit normals of the level set there
// (points, 3). `sampler`: of a triangulation of the level set; without a field (NULL) the points
// lie on its surface itself, which must face outwards.
RF_MUST_CHECK rf_status rf_repulsion(const rf_field *field, const rf_sampler *sampler,
                                     const rf_repulsion_settings *set, const rf_run *run,
                                     double *points, double *normals, rf_repulsion_report *report,
                                     rf_error *err);

#endif
