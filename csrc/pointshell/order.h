// Farthest-point ordering (B07 3.9.1).
//
// Point 0 is followed by the point farthest from it, then by the one with the largest distance to
// the nearest of the two, and so on; among equally far points the lowest comes first.  A new point
// can only be the nearest one to points within the distance at which it was found, so few points
// are visited: about n log n in total on surfaces, for any arrangement of their parts.
#ifndef RF_POINTSHELL_ORDER_H
#define RF_POINTSHELL_ORDER_H

#include <stdint.h>

#include "base/status.h"

// Sets order (n) to the indices of finite points (n, 3).
RF_MUST_CHECK rf_status rf_farthest_order(int32_t n, const double *points, const rf_run *run,
                                          int32_t *order, rf_error *err);

#endif
