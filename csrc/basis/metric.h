// Maps the metric |x|^2 = x^T M x to the Euclidean one: z = L^T P x with M = P^T L L^T P; internal
// to this room.
//
// M acts alike on `width` adjacent components (1 or 3): vectors are (rows, width).
#ifndef RF_BASIS_METRIC_H
#define RF_BASIS_METRIC_H

#include <stddef.h>

#include "basis/basis.h"

typedef struct rf_metric {
  rf_cholesky *factor;
  size_t rows;
  int width;
} rf_metric;

// Creates a metric.  `mass`: lower triangle; places: of its rows, nullable.  Zero-initialise `out`
// first.
RF_MUST_CHECK rf_status rf_metric_create(const rf_csc *mass, const rf_places *places, int width,
                                         const rf_run *run, rf_metric *out, rf_error *err);
// Creates the metric of the consistent mass over the free nodes.
RF_MUST_CHECK rf_status rf_metric_of_solid(const rf_solid *solid, const rf_run *run, rf_metric *out,
                                           rf_error *err);
void rf_metric_free(rf_metric *metric);  // leaves an empty metric, which may be freed again

// Copies count fields (count, n_nodes, 3) over the free nodes and maps them to Euclidean ones; the
// caller frees *vectors (count, rows, width).
RF_MUST_CHECK rf_status rf_metric_copies(const rf_solid *solid, const rf_metric *metric,
                                         const rf_run *run, int32_t count, const double *fields,
                                         double **vectors, rf_error *err);

// Maps count vectors in place: z = L^T P x, and back.
RF_MUST_CHECK rf_status rf_metric_enter(const rf_metric *metric, const rf_run *run, int32_t count,
                                        double *vectors, rf_error *err);
RF_MUST_CHECK rf_status rf_metric_leave(const rf_metric *metric, const rf_run *run, int32_t count,
                                        double *vectors, rf_error *err);

#endif
