// y := y - A B^T y removes from vectors their parts along the columns of A, measured by the dual
// vectors B. With B = M A and A^T M A = 1 the parts are removed in the metric of M; A and B
// exchanged remove them from loads.  The bits do not depend on the number of threads.
#ifndef RF_LINALG_DEFLATE_H
#define RF_LINALG_DEFLATE_H

#include <stdint.h>

#include "base/status.h"

// Shapes: a, b (k, n), y (count, n), all contiguous.
RF_MUST_CHECK rf_status rf_deflate(const rf_run *run, int32_t n, int32_t k, const double *a,
                                   const double *b, int32_t count, double *y, rf_error *err);

#endif
