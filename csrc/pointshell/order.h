// Points in the order of the farthest next one (B07 3.9.1).
//
// Point 0 is followed by the point farthest from it, that by the one with the largest distance to
// the nearest of the two, and so on; of equally far ones the lowest comes first.  A point can be
// nearer to a new one than to those before only within the distance at which that one was
// found, so few points are looked at: about n log n in all on surfaces, however their parts lie.
#ifndef RF_POINTSHELL_ORDER_H
#define RF_POINTSHELL_ORDER_H

#include <stdint.h>

#include "base/status.h"

// order (n): indices of finite points (n, 3).
RF_MUST_CHECK rf_status rf_farthest_order(int32_t n, const double *points, const rf_run *run,
                                          int32_t *order, rf_error *err);

#endif
