// A pointshell from its ground on: triangulation, repulsion, normals, areas; one count of progress.
#ifndef RF_POINTSHELL_SHELL_H
#define RF_POINTSHELL_SHELL_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"
#include "pointshell/repulsion.h"
#include "sdf/field.h"

typedef struct rf_shell_settings {
  rf_repulsion_settings repulsion;
  int32_t resolution;    // of the triangulation, as of rf_level_set_triangulate
  int32_t area_samples;  // a point; 0: no areas
} rf_shell_settings;

// Points on the level set of a field, or, when that is NULL, on a surface; with both on the level
// set, with the pseudonormals of the surface.  points, normals (points, 3), as of rf_repulsion;
// areas (points), not touched without area samples.
RF_MUST_CHECK rf_status rf_shell_create(const rf_field *field, const rf_surface *surface,
                                        const rf_shell_settings *set, const rf_run *run,
                                        double *points, double *normals, double *areas,
                                        rf_repulsion_report *report, rf_error *err);

// Share of the area of a surface within which a field is not below `level_set` at a place `depth`
// in front of the surface, nor at one as far behind it: of parts that are thinner, and of sharp
// edges.  0 <= share <= 1.
RF_MUST_CHECK rf_status rf_shell_thinness(const rf_field *field, const rf_surface *surface,
                                          double level_set, double depth, int32_t samples,
                                          const rf_run *run, double *share, rf_error *err);

#endif
