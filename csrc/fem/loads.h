// Loads of many samples, each the sum of forces at some nodes and of patterns times coordinates.
#ifndef RF_FEM_LOADS_H
#define RF_FEM_LOADS_H

#include <stdint.h>

#include "base/status.h"

typedef struct rf_loads {
  int32_t count;
  const int32_t *ptr;         // range of each load's forces              (count + 1)
  const int32_t *node;        //                                          (ptr[count])
  const double *force;        // N; forces at a repeated node add up      (ptr[count], 3)
  int32_t n_patterns;         // may be 0
  const double *patterns;     // forces                                   (n_patterns, n_nodes, 3)
  const double *coordinates;  //                                          (count, n_patterns)
} rf_loads;

RF_MUST_CHECK rf_status rf_loads_check(const rf_loads *loads, int32_t n_nodes, rf_error *err);

// Computes the forces (n_nodes, 3) of one load.
void rf_loads_expand(const rf_loads *loads, int32_t n_nodes, int32_t which, double *force);

// Computes all loads (count, dim) over the nodes that any of them touches; the caller frees
// *points.
RF_MUST_CHECK rf_status rf_loads_dense(const rf_loads *loads, int32_t n_nodes, double **points,
                                       int64_t *dim, rf_error *err);

#endif
