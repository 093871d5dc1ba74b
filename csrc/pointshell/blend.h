// Weights by which values at points of a surface are interpolated at other places on it.
//
// A place takes the values of the points nearest to it whose normals are within 90 degrees of its
// own, so that the two sides of a sheet stay apart.  With their distances d_i, that of the next one
// D, the linear function in the tangent plane with the least squares by (1/d_i - 1/D)^2 has the
// value (Franke and Little): a place at a point has its value, linear fields on a plane are exact,
// and values do not jump as points become neighbours.  Where points do not give a slope, the
// weights are these squares alone, made to sum to 1.  Beyond the points values fade: from the
// distance of the neighbours of the nearest point on, to zero at twice that.  Places with all
// points on their other side have no value.
#ifndef RF_POINTSHELL_BLEND_H
#define RF_POINTSHELL_BLEND_H

#include <stdint.h>

#include "base/status.h"

enum { RF_SHELL_BLEND_NEAREST = 7 };  // points of a place

typedef struct rf_shell_blend_points {
  int32_t n;              // 1 or more
  const double *at;       // m, (n, 3)
  const double *outward;  // normals (n, 3)
} rf_shell_blend_points;

// Writes the numbers of the points of each place, and their weights, (places->n, NEAREST).  Of
// fewer points the rest has the number 0 and the weight 0.
RF_MUST_CHECK rf_status rf_shell_blend(const rf_shell_blend_points *points,
                                       const rf_shell_blend_points *places, const rf_run *run,
                                       int32_t *number, double *weight, rf_error *err);
// The same of one place, (NEAREST).
void rf_shell_blend_place_rt(const rf_shell_blend_points *points, const double x[3],
                             const double normal[3], int32_t *number, double *weight);

#endif
