// Linear complementarity problems by Lemke's method, dense, for comparisons.
#ifndef RF_CONSTRAINT_LEMKE_H
#define RF_CONSTRAINT_LEMKE_H

#include <stdint.h>

#include "base/status.h"

typedef struct rf_lemke_report {
  int32_t pivots;
  int failed;  // no solution was found
} rf_lemke_report;

// Finds z >= 0 with w = M z + q >= 0 and z . w = 0.  M (n, n) by rows; z (n).  RF_ERR_INTERRUPTED.
RF_MUST_CHECK rf_status rf_lemke(int32_t n, const double *m, const double *q, const rf_run *run,
                                 double *z, rf_lemke_report *report, rf_error *err);

#endif
