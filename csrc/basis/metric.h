// The metric |x|^2 = x^T M x made Euclidean: z = L^T P x with M = P^T L L^T P; private to the room.
//
// M acts alike on `width` components (1 or 3) that lie side by side: vectors are (rows, width).
#ifndef RF_BASIS_METRIC_H
#define RF_BASIS_METRIC_H

#include <stddef.h>

#include "basis/basis.h"

typedef struct rf_metric {
  rf_cholesky *factor;
  size_t rows;
  int width;
} rf_metric;

// `mass`: lower triangle.  Zero-initialise `out` first.
RF_MUST_CHECK rf_status rf_metric_create(const rf_csc *mass, int width, const rf_run *run,
                                         rf_metric *out, rf_error *err);
// Makes the metric of the consistent mass over the free nodes.
RF_MUST_CHECK rf_status rf_metric_of_solid(const rf_solid *solid, const rf_run *run, rf_metric *out,
                                           rf_error *err);
void rf_metric_free(rf_metric *metric);  // leaves a zero metric, which may be freed again

// Copies over the free nodes of count fields (count, n_nodes, 3), which become Euclidean;
// *vectors (count, rows, width) is the caller's to free.
RF_MUST_CHECK rf_status rf_metric_copies(const rf_solid *solid, const rf_metric *metric,
                                         const rf_run *run, int32_t count, const double *fields,
                                         double **vectors, rf_error *err);

// In place, for count vectors: z = L^T P x, and back.
RF_MUST_CHECK rf_status rf_metric_enter(const rf_metric *metric, const rf_run *run, int32_t count,
                                        double *vectors, rf_error *err);
RF_MUST_CHECK rf_status rf_metric_leave(const rf_metric *metric, const rf_run *run, int32_t count,
                                        double *vectors, rf_error *err);

#endif
