// Points in the order of Hilbert's curve through their box: what follows each other is near.
#ifndef RF_LINALG_CURVE_H
#define RF_LINALG_CURVE_H

#include <stdint.h>

#include "base/status.h"

// order: numbers of the points (n, 3) along the curve; points of one cell, of 2^16 a side, keep
// their order, and those that are not finite come last.  The curve halves the longest side of the
// box first, so that its parts have small surfaces.
RF_MUST_CHECK rf_status rf_curve_order(int64_t n, const double *points, int64_t *order,
                                       rf_error *err);

#endif
