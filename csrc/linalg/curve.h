// Order of points along the Hilbert curve through their bounding box: neighbours in the order are
// near in space.
#ifndef RF_LINALG_CURVE_H
#define RF_LINALG_CURVE_H

#include <stdint.h>

#include "base/status.h"

// Fills `order` with the indices of the points (n, 3) along the curve.  Points in one cell, of 2^16
// per side, keep their order; non-finite points come last.  The curve halves the longest side of
// the box first, so that its parts have small surfaces.
RF_MUST_CHECK rf_status rf_curve_order(int64_t n, const double *points, int64_t *order,
                                       rf_error *err);

#endif
