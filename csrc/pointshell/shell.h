// Construction of a pointshell from a field or surface: triangulation, repulsion, normals, areas,
// with a single count of progress.
#ifndef RF_POINTSHELL_SHELL_H
#define RF_POINTSHELL_SHELL_H

#include <stdint.h>

#include "base/status.h"
#include "mesh/surface.h"
#include "pointshell/repulsion.h"
#include "sdf/field.h"

typedef struct rf_shell_settings {
  rf_repulsion_settings repulsion;
  int32_t resolution;    // resolution of the triangulation, as in rf_level_set_triangulate
  int32_t area_samples;  // samples per point; 0: no areas
} rf_shell_settings;

// Creates points on the level set of a field, on a surface if that is NULL, or, if both are given,
// on the level set with the pseudonormals of the surface.  points, normals (points, 3), as in
// rf_repulsion; areas (points), unchanged without area samples.
RF_MUST_CHECK rf_status rf_shell_create(const rf_field *field, const rf_surface *surface,
                                        const rf_shell_settings *set, const rf_run *run,
                                        double *points, double *normals, double *areas,
                                        rf_repulsion_report *report, rf_error *err);

// Estimates the share, 0 to 1, of a surface's area where the field is at least `level_set` both at
// `depth` in front of the surface and at `depth` behind it: parts that are thinner, and sharp
// edges.
RF_MUST_CHECK rf_status rf_shell_thinness(const rf_field *field, const rf_surface *surface,
                                          double level_set, double depth, int32_t samples,
                                          const rf_run *run, double *share, rf_error *err);

#endif
